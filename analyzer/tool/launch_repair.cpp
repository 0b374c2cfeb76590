// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The repair of braces in launch configurations; see launch_repair.h.
//
// A scanner that knows just enough of C++ to skip comments, strings, raw strings and characters. It errs towards
// leaving text alone: whatever does not look like `<<<`, operands and `>>>` with balanced brackets stays as it is, and
// Clang then says what it thinks of it.
#include "analyzer/tool/launch_repair.h"

#include <cctype>

namespace streamsan::analyzer {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), result_(text) {}

  std::optional<std::string> run() {
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t code = skip(i);
      if (code != i) {
        i = code;
      } else if (text_.compare(i, 3, "<<<") == 0) {
        // A run of more is a conflict marker.
        const std::size_t end = text_.find_first_not_of('<', i);
        if (end == i + 3) {
          launch(end);
        }
        i = end == text_.npos ? text_.size() : end;
      } else {
        ++i;
      }
    }
    return changed_ ? std::optional(result_) : std::nullopt;
  }

 private:
  /// Behind the comment or literal that begins at `i`; `i` itself if none does.
  [[nodiscard]] std::size_t skip(std::size_t i) const {
    const auto behind = [this](std::string_view end, std::size_t from) {
      const std::size_t found = text_.find(end, from);
      return found == text_.npos ? text_.size() : found + end.size();
    };
    if (text_.compare(i, 2, "//") == 0) {
      return behind("\n", i);
    }
    if (text_.compare(i, 2, "/*") == 0) {
      return behind("*/", i + 2);
    }
    const bool raw = text_[i] == '"' && i > 0 && text_[i - 1] == 'R';
    if (raw) {
      const std::size_t open = text_.find('(', i);
      if (open != text_.npos && open - i <= 17) {
        return behind(")" + std::string(text_.substr(i + 1, open - i - 1)) + "\"", open);
      }
    }
    const bool separator = text_[i] == '\'' && i > 0 && is_word(text_[i - 1]) && i + 1 < text_.size() &&
                           is_word(text_[i + 1]) && !(i + 2 < text_.size() && text_[i + 2] == '\'');
    if (text_[i] == '"' || (text_[i] == '\'' && !separator)) {
      std::size_t end = i + 1;
      while (end < text_.size() && text_[end] != text_[i] && text_[end] != '\n') {
        end += text_[end] == '\\' ? 2 : 1;
      }
      return std::min(end + 1, text_.size());
    }
    return i;
  }

  /// The operands from `i` to `>>>`, at depth 0 of brackets.
  void launch(std::size_t i) {
    bool operand_begins = true;
    int depth = 0;
    std::size_t open = text_.npos;
    while (i < text_.size()) {
      const char c = text_[i];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++i;
        continue;
      }
      const std::size_t code = skip(i);
      if (code != i) {
        operand_begins = operand_begins && c == '/';
        i = code;
        continue;
      }
      if (depth == 0 && (c == ';' || text_.compare(i, 3, ">>>") == 0)) {
        return;
      }
      if (c == '(' || c == '[' || c == '{') {
        if (c == '{' && depth == 0 && operand_begins) {
          open = i;
        }
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        if (--depth < 0) {
          return;
        }
        if (depth == 0 && open != text_.npos) {
          if (c == '}' && ends_operand(i + 1)) {
            rewrite(open, i);
          }
          open = text_.npos;
        }
      }
      operand_begins = depth == 0 && c == ',';
      ++i;
    }
  }

  [[nodiscard]] bool ends_operand(std::size_t i) const {
    while (i < text_.size()) {
      const std::size_t code = std::isspace(static_cast<unsigned char>(text_[i])) != 0 ? i + 1 : skip(i);
      if (code == i) {
        break;
      }
      i = code;
    }
    return text_.compare(i, 3, ">>>") == 0 || (i < text_.size() && text_[i] == ',');
  }

  void rewrite(std::size_t open, std::size_t close) {
    const std::size_t last = text_.find_last_not_of(" \t\r\n", close - 1);
    if (last == open) {
      result_[open] = '1';
      result_[close] = ' ';
    } else {
      result_[open] = '(';
      result_[close] = ')';
      if (text_[last] == ',') {
        result_[last] = ' ';
      }
    }
    changed_ = true;
  }

  std::string_view text_;
  std::string result_;
  bool changed_ = false;
};

}  // namespace

std::optional<std::string> repair_launches(std::string_view text) { return Scanner(text).run(); }

std::map<std::string, std::string> LaunchRepairs::with_includes(const std::string& file,
                                                                const std::vector<std::string>& include_folders) {
  std::map<std::string, std::string> repaired;
  for (const IncludedText::File* each : texts_.of(file, include_folders)) {
    const auto [known, fresh] = known_.try_emplace(each->path);
    if (fresh) known->second = repair_launches(each->text);
    if (known->second) repaired.emplace(each->path, *known->second);
  }
  return repaired;
}

}  // namespace streamsan::analyzer

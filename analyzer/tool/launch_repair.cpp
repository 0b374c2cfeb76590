// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The repair of braces in launch configurations; see launch_repair.h.
//
// A scanner that knows just enough of C++ to skip comments, strings, raw strings and characters. It errs towards
// leaving text alone: whatever does not look like `<<<`, operands and `>>>` with balanced brackets stays as it is, and
// Clang then says what it thinks of it.
#include "analyzer/tool/launch_repair.h"

#include <cctype>
#include <filesystem>
#include <set>

#include "analyzer/tool/files.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

/// More project headers than that are not searched; launches in headers are rare.
constexpr std::size_t kMostFiles = 2000;

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

std::optional<std::string> read(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    return std::nullopt;
  }
  std::string text;
  return read_file(path, text) ? std::optional(std::move(text)) : std::nullopt;
}

/// The names in `#include "name"`. Conditions are not looked at: a file too many does no harm.
std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = text.find("include"); i != text.npos; i = text.find("include", i + 1)) {
    const std::size_t before = i == 0 ? text.npos : text.find_last_not_of(" \t", i - 1);
    const std::size_t after = text.find_first_not_of(" \t", i + 7);
    if (before == text.npos || text[before] != '#' || after == text.npos || text[after] != '"') {
      continue;
    }
    const std::size_t end = text.find_first_of("\"\n", after + 1);
    if (end != text.npos && text[end] == '"') {
      names.emplace_back(text.substr(after + 1, end - after - 1));
    }
  }
  return names;
}

}  // namespace

std::optional<std::string> repair_launches(std::string_view text) { return Scanner(text).run(); }

std::map<std::string, std::string> repair_with_includes(const std::string& file,
                                                        const std::vector<std::string>& include_folders) {
  std::map<std::string, std::string> repaired;
  std::set<std::string> seen{file};
  std::vector<std::string> pending{file};
  while (!pending.empty() && seen.size() < kMostFiles) {
    const std::string path = std::move(pending.back());
    pending.pop_back();
    const std::optional<std::string> text = read(path);
    if (!text) {
      continue;
    }
    if (std::optional<std::string> better = repair_launches(*text)) {
      repaired.emplace(path, std::move(*better));
    }
    for (const std::string& name : quoted_includes(*text)) {
      std::vector<std::string> folders{fs::path(path).parent_path().string()};
      folders.insert(folders.end(), include_folders.begin(), include_folders.end());
      for (const std::string& folder : folders) {
        const std::string candidate = (fs::path(folder) / name).lexically_normal().string();
        std::error_code ignored;
        if (fs::is_regular_file(candidate, ignored)) {
          if (seen.insert(candidate).second) {
            pending.push_back(candidate);
          }
          break;
        }
      }
    }
  }
  return repaired;
}

std::vector<std::string> quoted_include_folders(const std::vector<std::string>& arguments,
                                                const std::string& directory) {
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    const bool separate = word == "-I" || word == "-iquote";
    if (separate && i + 1 < arguments.size()) {
      word = arguments[++i];
    } else if (word.starts_with("-I")) {
      word.remove_prefix(2);
    } else if (word.starts_with("-iquote")) {
      word.remove_prefix(7);
    } else {
      continue;
    }
    folders.push_back((fs::path(directory) / word).lexically_normal().string());
  }
  return folders;
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX as a sequence of tokens: words (with their dots, signs % and $), numbers, strings, single other characters.
// Comments and white space are skipped. Line-ended directives (.loc, .file, .version ...) have no closing token:
// the parser skips the rest of the line.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace streamsan::ptx {

struct Token {
  std::string_view text;  ///< empty: the end
  std::size_t position = 0;
  [[nodiscard]] bool is(std::string_view other) const { return text == other; }
  [[nodiscard]] bool is(char c) const { return text.size() == 1 && text[0] == c; }
  [[nodiscard]] bool end() const { return text.empty(); }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text, std::size_t position = 0) : text_(text), position_(position) {}

  Token next() {
    skip();
    const std::size_t begin = position_;
    if (begin >= text_.size()) return {{}, begin};
    const char c = text_[begin];
    if (c == '"') {
      ++position_;
      while (position_ < text_.size() && text_[position_] != '"') position_ += text_[position_] == '\\' ? 2 : 1;
      if (position_ < text_.size()) ++position_;
      if (position_ > text_.size()) position_ = text_.size();
    } else if (word(c)) {
      // "shared::cta" is part of an opcode, "label:" is not one word.
      while (position_ < text_.size() && (word(text_[position_]) || scope_at(position_)))
        position_ += scope_at(position_) ? 2 : 1;
    } else {
      ++position_;
    }
    return {text_.substr(begin, position_ - begin), begin};
  }

  [[nodiscard]] std::size_t position() const { return position_; }
  void seek(std::size_t position) { position_ = position; }

  void skip_line() { position_ = std::min(text_.find('\n', position_), text_.size()); }

 private:
  static bool word(char c) {
    // Texts of hundreds of megabytes are skimmed.
    static constexpr std::array<bool, 256> kWord = [] {
      std::array<bool, 256> out{};
      for (unsigned i = 0; i < out.size(); ++i)
        out[i] = (i >= '0' && i <= '9') || (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z');
      for (const char each : {'_', '$', '%', '.'}) out[static_cast<unsigned char>(each)] = true;
      return out;
    }();
    return kWord[static_cast<unsigned char>(c)];
  }
  [[nodiscard]] bool scope_at(std::size_t position) const { return pair_at(position, ':', ':'); }
  [[nodiscard]] bool pair_at(std::size_t position, char a, char b) const {
    return position + 1 < text_.size() && text_[position] == a && text_[position + 1] == b;
  }
  void skip() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
        ++position_;
      } else if (pair_at(position_, '/', '/')) {
        skip_line();
      } else if (pair_at(position_, '/', '*')) {
        const std::size_t close = text_.find("*/", position_ + 2);
        position_ = close == std::string_view::npos ? text_.size() : close + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t position_;
};

}  // namespace streamsan::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texts of expressions, as far as the names of indices and sizes need to understand them.
#pragma once

#include <cctype>
#include <string>

namespace streamsan::analyzer {

inline bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Calls `on_word(word)` for each identifier and copies the rest; what it returns replaces the word.
template <typename OnWord>
std::string replace_words(const std::string& text, OnWord on_word) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!word_character(text[i])) {
      result += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && word_character(text[end])) ++end;
    const std::string word = text.substr(i, end - i);
    result += std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? word : on_word(word);
    i = end;
  }
  return result;
}

/// Every `what` that is not a part of a longer word.
std::string replace_all(std::string text, const std::string& what, const std::string& with);

/// `f(i)`, `i++`: another value each time it is evaluated, whatever the variables hold.
bool has_effects_or_calls(const std::string& text);

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See key_text.h.
#include "analyzer/analysis/key_text.h"

namespace streamsan::analyzer {

std::string replace_all(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    const bool inside_word = (at > 0 && word_character(text[at - 1]) && word_character(what.front())) ||
                             (at + what.size() < text.size() && word_character(text[at + what.size()]));
    if (inside_word) {
      at += what.size() > with.size() ? what.size() - with.size() : 0;
      continue;
    }
    text.replace(at, what.size(), with);
  }
  return text;
}

bool has_effects_or_calls(const std::string& text) {
  if (text.find("++") != std::string::npos || text.find("--") != std::string::npos) return true;
  for (std::size_t at = text.find('('); at != std::string::npos; at = text.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string word = text.substr(begin, at - begin);
    if (!word.empty() && word != "sizeof") return true;
  }
  return false;
}

}  // namespace streamsan::analyzer

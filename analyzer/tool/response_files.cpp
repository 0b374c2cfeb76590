// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See response_files.h.
#include "analyzer/tool/response_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace streamsan::analyzer {

void ResponseFiles::open(const std::string& name, const Use& use, std::string& error) {
  const std::string path = (std::filesystem::path(directory_) / name).lexically_normal().string();
  if (std::ranges::find(being_read_, path) != being_read_.end()) {
    error = "response file " + path + " includes itself";
    return;
  }
  const std::optional<std::string> text = read_file_(path);
  if (!text) {
    error = "response file " + path + " cannot be read";
    return;
  }
  being_read_.push_back(path);
  use(split_words(*text));
  being_read_.pop_back();
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (open) {
        words.push_back(std::move(word));
        word.clear();
        open = false;
      }
      continue;
    }
    open = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      word += c;
    }
  }
  if (open) {
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Response files: `@FILE`, and nvcc's --options-file, stand for the words in a file, which may name further ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::analyzer {

/// The text of a file, or nothing.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

class ResponseFiles {
 public:
  /// Names are relative to `directory`.
  ResponseFiles(std::string directory, ReadFile read_file)
      : directory_(std::move(directory)), read_file_(std::move(read_file)) {}

  using Use = std::function<void(const std::vector<std::string>& words)>;
  /// Hands the words of the file to `use`, which may come back here with files that they name. A file that cannot be
  /// read or that includes itself: one line in `error`.
  void open(const std::string& name, const Use& use, std::string& error);

 private:
  std::string directory_;
  ReadFile read_file_;
  std::vector<std::string> being_read_;
};

/// Words as a POSIX shell parts them: blanks, both quotes, backslashes. No expansions.
std::vector<std::string> split_words(std::string_view text);

}  // namespace streamsan::analyzer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of sources and of the headers that they include by `#include "..."`. A header is read once for all of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::analyzer {

/// The names in `#include "name"`. Conditions are not looked at: a file too many does no harm.
std::vector<std::string> quoted_includes(std::string_view text);

/// The folders that `#include "..."` is looked up in, in order, absolute. System folders are left out: what is
/// installed compiles.
std::vector<std::string> quoted_include_folders(const std::vector<std::string>& arguments,
                                                const std::string& directory);

class IncludedText {
 public:
  struct File {
    std::string path;  ///< absolute and without dots
    std::string text;
    std::vector<std::string> includes;  ///< as they are written there
  };
  /// `file` first, then all that it includes, found beside the includer and in `folders`. What cannot be read is left
  /// out. The files live as long as this.
  std::vector<const File*> of(const std::string& file, const std::vector<std::string>& folders);

 private:
  const File* read(const std::string& path);

  std::map<std::string, std::optional<File>> files_;
};

}  // namespace streamsan::analyzer

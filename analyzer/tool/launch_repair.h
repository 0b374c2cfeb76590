// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launch configurations that only nvcc reads: `kernel<<<grid, {x, y, 1}, 0, s>>>(...)`.
//
// Clang wants an expression there, calls the braces an error and throws the whole statement away: a launch that the
// analysis would never see. The repair writes `(x, y, 1)` instead. That is another number, but a valid expression that
// becomes a dim3, and the analysis does not care how large a grid is. It only has to have the same length: every line,
// column and offset of the file stays as it was, in messages and in fix-its. `{}` becomes `1 `.
//
// The repaired text is shown to Clang through an overlay of the file system; the files themselves are not touched. Only
// braces that open a whole operand of `<<<...>>>` are changed, only in code, not in comments and strings. A launch
// written by a macro is repaired where its `<<<` stands, too, since the text is all that is looked at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/tool/included_text.h"

namespace streamsan::analyzer {

/// The text with its launches repaired, of equal length; nothing if there is nothing to repair.
std::optional<std::string> repair_launches(std::string_view text);

/// Repairs sources with all that they include by `#include "..."`.
class LaunchRepairs {
 public:
  explicit LaunchRepairs(IncludedText& texts) : texts_(texts) {}
  /// The repaired texts by path.
  std::map<std::string, std::string> with_includes(const std::string& file,
                                                   const std::vector<std::string>& include_folders);

 private:
  IncludedText& texts_;
  std::map<std::string, std::optional<std::string>> known_;  ///< contents of all files that were read
};

}  // namespace streamsan::analyzer

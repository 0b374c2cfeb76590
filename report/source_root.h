// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The place of a finding in the sources, as a path relative to the root of the repository. Services that show findings
// beside the code expect that form.
//
// Debug information has absolute paths, those of the machine that compiled. The root is, in this order, what the user
// said (strip_path_prefix), the checkout of the CI job (GITHUB_WORKSPACE), the repository around the working folder,
// the working folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/finding.h"

namespace streamsan::report {

class SourceRoot {
 public:
  /// `path`: absolute. `prefix`: see above; empty: none.
  explicit SourceRoot(std::string path, std::string prefix = "") : path_(std::move(path)), prefix_(std::move(prefix)) {}
  /// As it is around this process.
  static SourceRoot here(const std::string& strip_path_prefix);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  /// The file relative to the root; nothing: it is not below it.
  [[nodiscard]] std::optional<std::string> relative(const std::string& file) const;

 private:
  std::string path_;
  std::string prefix_;
};

/// The frame of a call stack to point at: the innermost of the user's with a source line below the root, or else with a
/// source line anywhere; nullptr: there is none.
const Frame* frame_to_show(const std::vector<Frame>& stack, const SourceRoot& root);

/// The same of the first call stack of a finding that has one.
const Frame* frame_to_show(const Finding& finding, const SourceRoot& root);

}  // namespace streamsan::report

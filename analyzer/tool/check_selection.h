// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which checks are on for a file, and with which settings.
//
// clang-tidy merges its own defaults, the `.clang-tidy` files above a source and the command line. A project's
// `.clang-tidy` mostly knows nothing of this tool; read by clang-tidy's rules its `-*,bugprone-*` would switch every
// check off, and the tool would look clean. So here: all correctness checks are on; a configuration that names a
// streamsan check itself decides instead; the command line comes on top. Checks of others are left out, since this
// program has none of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/tool/command_line.h"
#include "clang-tidy/ClangTidyOptions.h"

namespace streamsan::analyzer {

/// In front of the names of the compiler's warnings, and of errors that can be switched off.
inline constexpr const char* kCompilerPrefix = "clang-diagnostic-";
/// The name of all other errors of the compiler.
inline constexpr const char* kCompileError = "clang-diagnostic-error";

struct Selection {
  clang::tidy::ClangTidyOptions options;                     ///< the complete options of the worker
  std::vector<std::pair<std::string, std::string>> enabled;  ///< name and where it was switched on
};

class CheckSelection {
 public:
  /// A configuration that cannot be read, or a name or glob that means no check: one line in `error`.
  CheckSelection(const CommandLine& line, std::string& error);

  Selection select(const std::string& file, std::string& error) const;

 private:
  const CommandLine& line_;
  clang::tidy::ClangTidyOptions given_;  ///< --config or --config-file
  bool has_given_ = false;
};

/// "streamsan-cross-stream-race"
std::string full_name(Check check);
/// By "streamsan-..." name.
const Check* find_check(std::string_view full_name);

/// Whether `globs`, as in --warnings-as-errors, hold the name.
bool globs_contain(const std::string& globs, const std::string& name);

}  // namespace streamsan::analyzer

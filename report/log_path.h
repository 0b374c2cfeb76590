// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where reports go: log_path and the files of all formats. %p process id, %h host name, %b base name of the program,
// %q{VAR} an environment variable (for job ids and ranks), %% a percent sign. Directories on the way are made.
#pragma once

#include <cstdint>
#include <string>

namespace streamsan::report {

struct LogNames {
  std::uint32_t pid = 0;
  std::string program;  ///< path of the program
};

/// An unknown directive stays as it is; an unset variable becomes nothing.
std::string expand_log_path(const std::string& pattern, const LogNames& names);

/// Does the pattern name a process (%p) or a program (%b), so that each may have a file of its own?
bool names_process(const std::string& pattern);

/// Makes the directories that the file needs. Returns what went wrong; empty: nothing.
std::string make_parents(const std::string& path);

}  // namespace streamsan::report

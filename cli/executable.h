// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Can a recorder be preloaded into a program? LD_PRELOAD is a wish to glibc's loader, and some programs are started
// without it: those that are linked statically, those that run with more rights than their user, those for another
// processor, and those of another C library. The kernel says nothing about any of them; the program's file does.
#pragma once

#include <filesystem>
#include <string>

namespace streamsan::cli {

/// A clause about the program: why a library cannot be preloaded into it. Empty: nothing is in the way, or the file
/// cannot be read. For a script: the obstacle of its interpreter.
std::string preload_obstacle(const std::filesystem::path& program);

/// The file of a command, found through PATH as execvp() does; empty: there is none.
std::filesystem::path find_program(const std::string& command);

}  // namespace streamsan::cli

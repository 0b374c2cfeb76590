// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces a file of results as a whole: on failure the old file stays, and the caller gets the reason.
//
// The new file is written beside the old one and takes its place when it is complete, so that a full disk or a kill in
// between leaves no half-written file for the next program. A pipe, a device, and the file that our own output goes to
// are written directly.
#pragma once

#include <string>
#include <string_view>

namespace streamsan::report {

/// Writes `text` to the file; "-" is stdout. Directories on the way are made. Returns what went wrong, with the name of
/// the file; empty: nothing.
std::string write_output(const std::string& path, std::string_view text);

/// Where what is written to the path ends up: links are followed, also to what is not there yet.
std::string file_behind(const std::string& path);

/// Writes all of it to a descriptor. False: it failed, errno says why.
bool write_all(int file, std::string_view text);

}  // namespace streamsan::report

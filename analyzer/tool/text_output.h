// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker's own text, with what is not to be shown taken out.
#pragma once

#include <map>
#include <string>

#include "analyzer/tool/results.h"

namespace streamsan::analyzer {

/// clang-tidy's output for one file, without findings that are known or repeated and, unless `all_errors`, without all
/// compile errors but the first. Source lines of `repaired` texts are shown as they stand in the files.
std::string shown_text(const std::string& output, const FileResults& results,
                       const std::map<std::string, std::string>& repaired, bool all_errors);

/// "3 findings"
std::string plural(std::size_t count, const std::string& word);
/// Relative to the working folder if below it.
std::string shown_path(const std::string& file);

/// To stdout, at once.
void print(const std::string& text);
/// The error number of the first print() that failed, or 0.
int print_failure();

/// One line on stderr: "streamsan-tidy: error: ...".
void say_error(const std::string& what);
void say(const std::string& what);

}  // namespace streamsan::analyzer

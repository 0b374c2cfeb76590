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

/// One line on stderr: "streamsan-tidy: error: ...".
void say_error(const std::string& what);
void say(const std::string& what);

}  // namespace streamsan::analyzer

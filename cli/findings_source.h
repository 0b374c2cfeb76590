// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings from a file: JSON, as `run --json` writes it, or a trace, which is judged first.
#pragma once

#include <string>

#include "cli/options.h"
#include "report/read_json.h"

namespace streamsan::cli {

/// Reads a file of findings; "-" is stdin. Returns what is wrong, with the name of the file; empty: nothing.
std::string read_findings(const std::string& path, report::FindingsFile& out);

/// The same, or judges the file if it is a trace.
std::string read_or_judge(const std::string& path, const Options& options, report::FindingsFile& out);

bool is_trace(const std::string& path);
bool holds_findings(const std::string& path);

}  // namespace streamsan::cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan check TRACE...`: judges traces that were recorded earlier. Same engine as `run`, same findings.
//
// Exit code: 2 if a trace could not be read or is not whole (after reporting what was whole), else `exitcode` (66) if
// there is an unsuppressed error, else 0.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

int check(const Options& options, const std::vector<std::string>& traces);

}  // namespace streamsan::cli

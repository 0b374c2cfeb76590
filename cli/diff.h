// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan diff BEFORE AFTER`: what is new, gone, worse or better between two runs. The runs are files of findings,
// or traces, which are judged with the given options.
//
// Exit code, for gates: 2 if a file could not be read, the second one is not whole, or the output cannot be written;
// else `exitcode` (66) if there is something new, or worse, of the severity of --fail-on or a higher one; else 0.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

/// `fail_on`: "error", "latent", "possible" or "none".
int diff(const Options& options, const std::string& fail_on, const std::vector<std::string>& files);

}  // namespace streamsan::cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan footprints TRACE...`: which bytes the kernels of a trace touched, as far as the trace knows.
//
// Text on stdout: one block for each kernel and each different set of bytes, with the number of launches that had it
// and how the bytes are known. Bytes are given relative to the start of the allocation they are in, so that a loop over
// equal buffers is one block. As JSON (--json=FILE): one line for each launch, with addresses; docs/footprints.md has
// the fields.
//
// Exit code: 2 if a trace could not be read or is not whole (after showing what was whole) or FILE cannot be written,
// else 0.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

/// Only the option kernel_code counts. `json_path`: empty for no JSON.
int footprints(const Options& options, const std::vector<std::string>& traces, const std::string& json_path);

}  // namespace streamsan::cli

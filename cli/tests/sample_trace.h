// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The traces that the tests of the command line are about, by name.
#pragma once

#include <string_view>

#include "judge/testing/trace_builder.h"

namespace streamsan::cli {

/// "race": one error. "fixed": the same, repaired. "latent", "possible": one finding of that severity. "in-progress":
/// no finding, and a call that has not returned.
trace::TraceBuilder sample_trace(std::string_view name);

}  // namespace streamsan::cli

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's side of the times (option timings): loads the agent (timings/agent.h) and writes a GpuTime record for
// each time it hands back. The calls of operations are bracketed by observers/times.h. Without the option an operation
// costs one load more.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/timings/agent.h"

namespace streamsan::recorder {

/// Loads the agent if the options ask for times; one line if there will be none.
void start_timing();

namespace detail {
extern constinit std::atomic<const StreamSanTimings*> g_timings;
}

}  // namespace streamsan::recorder

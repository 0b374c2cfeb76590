// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profilers of the program's own (torch.profiler, JAX's), which get no kernels while StreamSan measures them.
//
// The driver calls one tool of a process at each launch. A profiler asks CUPTI for that, and StreamSan's agent has
// asked for it by way of the Sanitizer before (footprints/agent.h). CUPTI refuses then, even after
// sanitizerUnsubscribe() (driver 580, CUDA 13.0), so the agent cannot make way. The program goes on with an empty
// profile; one line says why, and what to do.
//
// CUPTI is linked (PyTorch) or opened, and its functions looked up by dlsym() (JAX); both find ours.
#pragma once

namespace streamsan::recorder {

/// Is it a name of CUPTI's that we export?
bool is_profiler_entry(const char* name);
/// dlsym() has found this under the name, which begins with "cup": what the program is to get. `caller`: who called
/// dlsym(), an address of code.
void* profiler_entry(const char* name, void* found, const void* caller);

}  // namespace streamsan::recorder

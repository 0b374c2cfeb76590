// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clocks that are read right after a wait: a thread that waits and then reads a clock may wait only to measure time
// (option syncs).
//
// One word for each thread says "this thread has waited in a call of CUDA's, and submitted no work since". The first
// function of libc that reads a clock then (libc_clock.cpp) writes one ClockRead record and clears it; so does any call
// of CUDA's that submits work, waits or may do either. Without the option it is never set, and a wrapper is a load, a
// comparison and a jump.
//
// Not seen: the processor's own counter (rdtsc), system calls made by instructions, and who calls the vDSO by itself. A
// clock that is read for another reason than to measure (a message that is logged, a timed wait in a run-time library)
// is recorded like any other.
#pragma once

#include <cstdint>

#include "interposer/process.h"

namespace streamsan::recorder {

namespace detail {
/// In the initial-exec TLS block: read by the entries of the wrappers.
extern constinit thread_local std::uint32_t t_has_waited __attribute__((tls_model("initial-exec")));
}  // namespace detail

/// A blocking call of this thread has returned.
inline void note_wait() {
  if (options().syncs) [[unlikely]]
    detail::t_has_waited = 1;
}

/// It submits work, or waits anew.
inline void forget_wait() { detail::t_has_waited = 0; }

/// After a clock was read by this function of libc. `frame`: __builtin_frame_address(0) of the wrapper.
void clock_was_read(const char* function, const void* frame);

}  // namespace streamsan::recorder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals of, and waits for, external semaphores. A semaphore with a value is signalled with that value once, so
// whoever waits for the value comes after that signal, if it was made by this process. A trace says so by records that
// annotations make as well: signal and await of an object, which stands for semaphore and value.
//
// A wait that is not matched counts as a wait for everything submitted so far: a semaphore without a value (it is
// signalled again and again, perhaps by somebody else), a value that this process has not signalled before the wait was
// called. A race may be missed.
#pragma once

#include <cstdint>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/streams.h"

namespace streamsan::recorder {

/// After the call, which succeeded.
void record_semaphores(const CUexternalSemaphore* semaphores, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* values,
                       std::uint64_t count, StreamArgument stream, std::uint16_t api, const void* frame);
void record_semaphores(const CUexternalSemaphore* semaphores, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* values,
                       std::uint64_t count, StreamArgument stream, std::uint16_t api, const void* frame);

}  // namespace streamsan::recorder

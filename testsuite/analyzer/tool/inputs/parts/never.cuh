// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cuda_runtime.h>

/// Waits for an event that it makes and nobody records.
inline void wait_in_vain(cudaStream_t waiting) {
  cudaEvent_t never;
  cudaEventCreate(&never);
  cudaStreamWaitEvent(waiting, never, 0);
  cudaEventDestroy(never);
}

inline void wait_for(cudaStream_t waiting, cudaEvent_t event) { cudaStreamWaitEvent(waiting, event, 0); }

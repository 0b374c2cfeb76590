// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check self-wait %s
//
// Two parameters may be one stream, that is the caller's affair: silent.
#include <cuda_runtime.h>

void order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaEventRecord(e, before);
  cudaStreamWaitEvent(after, e, 0);
  cudaEventDestroy(e);
}

void array(cudaStream_t* streams, cudaEvent_t* events, int n) {
  for (int i = 0; i + 1 < n; ++i) {
    cudaEventRecord(events[i], streams[i]);
    cudaStreamWaitEvent(streams[i + 1], events[i], 0);
  }
}

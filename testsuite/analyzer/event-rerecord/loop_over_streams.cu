// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// One event for all iterations: only the last stream's record is left when the join waits.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void work(float* chunk) { chunk[threadIdx.x] += 1.0f; }

void fork_join(float* const* chunks) {
  cudaStream_t streams[kStreams], joined;
  cudaEvent_t done[kStreams];
  cudaStreamCreateWithFlags(&joined, cudaStreamNonBlocking);
  for (int i = 0; i < kStreams; ++i) {
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
  }
  for (int i = 0; i < kStreams; ++i) {
    work<<<1, 256, 0, streams[i]>>>(chunks[i]);
#ifdef FIXED
    cudaEventRecord(done[i], streams[i]);
    cudaStreamWaitEvent(joined, done[i], 0);
  }
#else
    cudaEventRecord(done[0], streams[i]);  // FIRES: event-rerecord
  }
  cudaStreamWaitEvent(joined, done[0], 0);
#endif
  cudaStreamSynchronize(joined);
}

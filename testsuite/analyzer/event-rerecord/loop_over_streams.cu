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
    cudaEventRecord(done[0], streams[i]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: event 'done[0]' is recorded again on stream 'streams[i]' before anything waited for its record on stream 'streams[i]': a wait covers only the last record [streamsan-event-rerecord]
// CHECK-NOTES: :[[@LINE-2]]:5: note: event 'done[0]' is recorded here first on stream 'streams[i]'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this wait does not cover what stream 'streams[i]' did
// CHECK-NOTES: :[[@LINE-13]]:5: note: event 'done[0]' is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: use one event for each record, or wait for the first before this one
  }
  cudaStreamWaitEvent(joined, done[0], 0);
#endif
  cudaStreamSynchronize(joined);
}

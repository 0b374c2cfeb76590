// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// Events in an array, created in a loop; the loop that should record them records another array.
#include <cuda_runtime.h>

constexpr int kParts = 4;

__global__ void part(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* const* parts, cudaStream_t joined) {
  cudaStream_t streams[kParts];
  cudaEvent_t begun[kParts], done[kParts];
  for (int i = 0; i < kParts; ++i) {
    cudaStreamCreate(&streams[i]);
    cudaEventCreateWithFlags(&begun[i], cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
  }
  for (int i = 0; i < kParts; ++i) {
    part<<<1, 256, 0, streams[i]>>>(parts[i]);
#ifdef FIXED
    cudaEventRecord(done[i], streams[i]);
#else
    cudaEventRecord(begun[i], streams[i]);
#endif
  }
  for (int i = 0; i < kParts; ++i) {
    cudaStreamWaitEvent(joined, done[i], 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: stream 'joined' waits for event 'done[i]', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-13]]:5: note: event 'done[i]' is created here
// CHECK-NOTES: :[[@LINE-3]]:5: note: record event 'done[i]' with cudaEventRecord before the wait
  }
  cudaStreamSynchronize(joined);
}

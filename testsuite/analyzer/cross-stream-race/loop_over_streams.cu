// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Each iteration has its own stream, but all accumulate into one buffer without atomics.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void accumulate(const float* part, float* total) { total[threadIdx.x] += part[threadIdx.x]; }

void reduce(float* const* parts, float* total) {
  cudaStream_t streams[kStreams];
  for (int i = 0; i < kStreams; ++i) cudaStreamCreate(&streams[i]);
  for (int i = 0; i < kStreams; ++i) {
#ifdef FIXED
    accumulate<<<1, 256, 0, streams[0]>>>(parts[i], total);
#else
    accumulate<<<1, 256, 0, streams[i]>>>(parts[i], total);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'accumulate' on stream 'streams[i]' may update 'total' while kernel 'accumulate' on stream 'streams[i]', in an earlier iteration, still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'total' is updated here, on stream 'streams[i]'
// CHECK-NOTES: :[[@LINE-8]]:38: note: stream 'streams[i]' is created here
// CHECK-NOTES: :[[@LINE-4]]:5: note: kernel 'accumulate' may be that of an earlier iteration: record an event in stream 'streams[i]' of that iteration after the update and let stream 'streams[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'accumulate'
#endif
  }
  for (int i = 0; i < kStreams; ++i) {
    cudaStreamSynchronize(streams[i]);
    cudaStreamDestroy(streams[i]);
  }
}

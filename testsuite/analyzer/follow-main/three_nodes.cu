// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A list that is given has three nodes.
#include <cuda_runtime.h>

struct Stage {
  float* weights;
  Stage* next;
};

__global__ void apply(const float* weights, float* sum, int n) { sum[threadIdx.x % n] += weights[threadIdx.x % n]; }

void run_all(Stage* first, float* sum, int n) {
  cudaStream_t lanes[3];
  for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  if (first->next == nullptr || first->next->next == nullptr) return;
  int i = 0;
  for (Stage* stage = first; stage != nullptr; stage = stage->next, ++i) {
#ifdef FIXED
    apply<<<1, 64, 0, lanes[0]>>>(stage->weights, sum, n);
#else
    apply<<<1, 64, 0, lanes[i % 3]>>>(stage->weights, sum, n);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'apply' on stream 'lane (2)' may write 'memory of the caller's' while kernel 'apply' on stream 'lane (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'memory of the caller's' is written here, on stream 'lane (1)'
// CHECK-NOTES: :[[@LINE-10]]:28: note: stream 'lane (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:28: note: stream 'lane (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'lane (2)' after stream 'lane (1)': record an event in stream 'lane (1)' after the write and let stream 'lane (2)' wait for it with cudaStreamWaitEvent before kernel 'apply'
// CHECK-NOTES: :[[@LINE-6]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
#endif
  }
  for (auto& lane : lanes) cudaStreamSynchronize(lane);
}

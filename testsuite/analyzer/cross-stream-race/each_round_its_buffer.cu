// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A loop of a few rounds that chooses the buffer by the number of the round. Of two rounds each has its own; of three
// the last two share one.
#include <cuda_runtime.h>

__global__ void bump(float* cells) { cells[threadIdx.x] += 1.0f; }

#ifdef FIXED
constexpr int kLanes = 2;
#else
constexpr int kLanes = 3;
#endif

void by_operator(float* even, float* odd) {
  cudaStream_t lanes[kLanes];
  for (cudaStream_t& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  for (int i = 0; i < kLanes; ++i) {
    bump<<<1, 64, 0, lanes[i]>>>(i > 0 ? odd : even);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'bump' on stream 'lanes[i]' may update 'odd' while kernel 'bump' on stream 'lanes[i]', in an earlier iteration, still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'odd' is updated here, on stream 'lanes[i]'
// CHECK-NOTES: :[[@LINE-5]]:36: note: stream 'lanes[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:5: note: kernel 'bump' may be that of an earlier iteration: record an event in stream 'lanes[i]' of that iteration after the update and let stream 'lanes[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'bump'
  }
  for (cudaStream_t lane : lanes) cudaStreamSynchronize(lane);
}

void by_branch(float* even, float* odd) {
  cudaStream_t lanes[kLanes];
  for (cudaStream_t& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  for (int i = 0; i < kLanes; ++i) {
    if (i == 0) {
      bump<<<1, 64, 0, lanes[i]>>>(even);
    } else {
      bump<<<1, 64, 0, lanes[i]>>>(odd);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: kernel 'bump' on stream 'lanes[i]' may update 'odd' while kernel 'bump' on stream 'lanes[i]', in an earlier iteration, still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:7: note: 'odd' is updated here, on stream 'lanes[i]'
// CHECK-NOTES: :[[@LINE-8]]:36: note: stream 'lanes[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:7: note: kernel 'bump' may be that of an earlier iteration: record an event in stream 'lanes[i]' of that iteration after the update and let stream 'lanes[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'bump'
    }
  }
  for (cudaStream_t lane : lanes) cudaStreamSynchronize(lane);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir --checks=-*,streamsan-cross-stream-race %s -- %mock -DFIXED | %filecheck %s
//
// Functions that are the same but for what their kernels compute: two of them get a caller, and the others only if these
// show something, which they then show as well.
#include <cuda_runtime.h>

__global__ void add(float* out, int n) { out[threadIdx.x % n] += 1; }
__global__ void twice(float* out, int n) { out[threadIdx.x % n] *= 2; }
__global__ void negate(float* out, int n) { out[threadIdx.x % n] = -out[threadIdx.x % n]; }

#ifdef FIXED
constexpr int kLane = 1;
#else
constexpr int kLane = 2;
#endif

// CHECK: 1 function until two that differ from them in what their kernels compute show something
// CHECK: void streamsan_caller_0
void op_add(float* data, int n) {
  cudaStream_t lanes[2];
  for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  for (int i = 0; i < 4; ++i) add<<<1, 64, 0, lanes[i / kLane % 2]>>>(data + i % 2 * n, n);  // FIRES: cross-stream-race
  for (auto& lane : lanes) cudaStreamSynchronize(lane);
}
void op_twice(float* data, int n) {
  cudaStream_t lanes[2];
  for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  for (int i = 0; i < 4; ++i) twice<<<1, 64, 0, lanes[i / kLane % 2]>>>(data + i % 2 * n, n);  // FIRES: cross-stream-race
  for (auto& lane : lanes) cudaStreamSynchronize(lane);
}
void op_negate(float* data, int n) {
  cudaStream_t lanes[2];
  for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  for (int i = 0; i < 4; ++i) negate<<<1, 64, 0, lanes[i / kLane % 2]>>>(data + i % 2 * n, n);  // FIRES: cross-stream-race
  for (auto& lane : lanes) cudaStreamSynchronize(lane);
}

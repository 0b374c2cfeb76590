// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The same with a checking function template that throws.
#include <cuda_runtime.h>

#include <stdexcept>

template <typename T>
void check(T result, const char* what) {
  if (result) throw std::runtime_error(what);
}
#define checkCudaErrors(call) check((call), #call)

__global__ void solve(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void residual(const float* x, float* r) { r[threadIdx.x] = x[threadIdx.x]; }

void iterate(float* x, float* r) {
  cudaStream_t s1, s2;
  cudaEvent_t e;
  checkCudaErrors(cudaStreamCreate(&s1));
  checkCudaErrors(cudaStreamCreate(&s2));
  checkCudaErrors(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  solve<<<1, 256, 0, s1>>>(x);
#ifdef FIXED
  checkCudaErrors(cudaEventRecord(e, s1));
  checkCudaErrors(cudaStreamWaitEvent(s2, e, 0));
#endif
  residual<<<1, 256, 0, s2>>>(x, r);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'residual' on stream 's2' may read 'x' while kernel 'solve' on stream 's1' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'x' is updated here, on stream 's1'
// CHECK-NOTES: :[[@LINE-11]]:19: note: stream 's1' is created here
// CHECK-NOTES: :[[@LINE-11]]:19: note: stream 's2' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 's2' after stream 's1': record an event in stream 's1' after the update and let stream 's2' wait for it with cudaStreamWaitEvent before kernel 'residual'
  checkCudaErrors(cudaDeviceSynchronize());
}

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
  residual<<<1, 256, 0, s2>>>(x, r);  // FIRES: cross-stream-race
  checkCudaErrors(cudaDeviceSynchronize());
}

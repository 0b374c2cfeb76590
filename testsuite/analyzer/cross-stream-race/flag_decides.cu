// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Whether there is work in flight is kept in a flag, and the flag decides whether it is waited for; in the first round
// of a loop there is nothing to wait for. With the flag never set the wait never happens.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

void by_flag(float* p, bool wanted) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  bool dirty = false;
  if (wanted) {
    fill<<<1, 32, 0, a>>>(p);
#ifdef FIXED
    dirty = true;
#endif
  }
  if (dirty) cudaStreamSynchronize(a);
  use<<<1, 32, 0, b>>>(p);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}

void by_round(float* p, int rounds) {
  cudaStream_t a, b;
  cudaEvent_t used;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  cudaEvent_t filled;
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  for (int i = 0; i < rounds; ++i) {
    if (i > 0) cudaStreamWaitEvent(a, used, 0);
    fill<<<1, 32, 0, a>>>(p);
    cudaEventRecord(filled, a);
    cudaStreamWaitEvent(b, filled, 0);
    use<<<1, 32, 0, b>>>(p);
    cudaEventRecord(used, b);
  }
  cudaStreamSynchronize(b);
}

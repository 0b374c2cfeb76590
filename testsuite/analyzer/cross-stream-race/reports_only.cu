// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A function that is given a text and numbers reports an error: it waits for nothing. One whose name says that it waits
// may have waited.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

void fail(const char* what, int line);
void sync_and_log(const char* what, int line);

void run(float* p) {
  cudaStream_t a, b;
  if (cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) != cudaSuccess) fail("a", __LINE__);
  if (cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking) != cudaSuccess) fail("b", __LINE__);
  fill<<<1, 32, 0, a>>>(p);
#ifdef FIXED
  sync_and_log("filled", __LINE__);
#else
  if (cudaGetLastError() != cudaSuccess) fail("fill", __LINE__);
#endif
  use<<<1, 32, 0, b>>>(p);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}

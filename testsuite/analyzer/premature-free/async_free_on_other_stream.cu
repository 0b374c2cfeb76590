// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// cudaFreeAsync on a stream that does not wait for the kernel.
#include <cuda_runtime.h>

__global__ void use(float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

void run(float* out, size_t bytes) {
  cudaStream_t compute, pool;
  cudaEvent_t allocated, used;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, pool);
  cudaEventRecord(allocated, pool);
  cudaStreamWaitEvent(compute, allocated, 0);
  use<<<1, 256, 0, compute>>>(scratch, out);
#ifdef FIXED
  cudaEventRecord(used, compute);
  cudaStreamWaitEvent(pool, used, 0);
#endif
  cudaFreeAsync(scratch, pool);  // FIRES: premature-free
  cudaStreamSynchronize(compute);
  cudaStreamSynchronize(pool);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime.h>

__global__ void fill(unsigned* values) { values[threadIdx.x] = 1; }

__global__ void sum(unsigned* total, const unsigned* values) {
  register unsigned value = values[threadIdx.x];
  __nv_atomic_fetch_add(total, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
}

void run(unsigned* total, unsigned* values, unsigned* others) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  fill<<<1, 256, 0, a>>>(values);
  sum<<<1, 256, 0, a>>>(total, values);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  sum<<<1, 256, 0, b>>>(total, others);
  sum<<<1, 256, 0, b>>>(total, values);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

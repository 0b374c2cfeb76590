// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <omp.h>
#if __CUDACC__ && __CUDACC_VER_MAJOR__ < 9
#error "the version of nvcc"
#endif

__global__ void fill(float* data, const float* from) {
  data[threadIdx.x] = __ldcs(from) + max(1, 2) + min(1u, 2);
  __stcg(data, 1.0f);
}

int host(unsigned long n) {
  const clock_t begin = clock();
  assert(omp_get_max_threads() > 0 && omp_get_thread_limit() > 0 && omp_get_proc_bind() == omp_proc_bind_false);
  float* data;
  cudaMalloc(&data, max(n, 32ul) * sizeof(float));
  fill<<<1, min(32, 64)>>>(data, data);
  cudaFree(data);
  return static_cast<int>(clock() - begin);
}

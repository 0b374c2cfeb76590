// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// Memory that a node of a graph allocates has one address for all launches. Freed after the first launch, it is there
// again after the second.
#include <cuda_runtime.h>

__global__ void validate(const float* result, int* wrong) { if (result[threadIdx.x] < 0) *wrong = 1; }

void run(cudaGraphExec_t allocates, float* result, int* wrong, cudaStream_t s) {
  cudaGraphLaunch(allocates, s);
  validate<<<1, 256, 0, s>>>(result, wrong);
  cudaFreeAsync(result, s);
#ifdef FIXED
  cudaGraphLaunch(allocates, s);
#endif
  validate<<<1, 256, 0, s>>>(result, wrong);  // FIRES: premature-free
  cudaStreamSynchronize(s);
}

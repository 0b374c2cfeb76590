// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
//
// A loop that fills an array of buffers once is set-up, not a step: each buffer is kept, silent.
#include <cuda_runtime.h>

#include <vector>

std::vector<float*> make_buffers(int n, size_t bytes) {
  std::vector<float*> buffers(n);
  for (int i = 0; i < n; ++i) cudaMalloc(&buffers[i], bytes);
  return buffers;
}

void destroy_buffers(std::vector<float*>& buffers) {
  for (float* b : buffers) cudaFree(b);
}

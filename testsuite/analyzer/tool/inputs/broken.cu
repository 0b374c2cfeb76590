// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.cuh"

void broken() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  undeclared_function(s);
  another_one(s);
}

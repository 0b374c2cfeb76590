// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// Destroyed by the helper and again by the caller.
#include <cuda_runtime.h>

static void finish(cudaStream_t s) {
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}

void run(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMemsetAsync(x, 0, 1024, s);
  finish(s);
#ifndef FIXED
  cudaStreamDestroy(s);  // FIRES: handle-use-after-destroy
#endif
}

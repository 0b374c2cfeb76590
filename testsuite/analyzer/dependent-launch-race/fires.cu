// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// Say in one sentence what this test shows. `update_checks.py` writes the words in place of FIRES.
#include <cuda_runtime.h>

void run(float* x, cudaStream_t stream) {
#ifdef FIXED
  cudaMemsetAsync(x, 1, 1024, stream);
#else
  cudaMemsetAsync(x, 0, 1024, stream);  // FIRES: dependent-launch-race
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s --fix
//
// --fix removes the second synchronisation.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t stream) {
  work<<<1, 256, 0, stream>>>(x);
  cudaStreamSynchronize(stream);
  cudaStreamSynchronize(stream);  // FIRES: redundant-sync
  work<<<2, 256, 0, stream>>>(x);
}
// CHECK-FIXES: work<<<1, 256, 0, stream>>>(x);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: work<<<2, 256, 0, stream>>>(x);

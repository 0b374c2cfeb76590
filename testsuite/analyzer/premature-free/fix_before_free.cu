// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --fix
//
// --fix waits for the stream before cudaFree.
#include <cuda_runtime.h>

__global__ void use(float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

void run(float* out, size_t bytes, cudaStream_t stream) {
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, stream);
  use<<<1, 256, 0, stream>>>(scratch, out);
  cudaFree(scratch);  // FIRES: premature-free
}
// CHECK-FIXES: use<<<1, 256, 0, stream>>>(scratch, out);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: cudaFree(scratch);

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s --fix
//
// --fix puts the synchronisation before the statement that overwrites the staging buffer.
#include <cuda_runtime.h>

void run(int* a, int* b, cudaStream_t stream) {
  int* staging = nullptr;
  cudaMallocHost(&staging, sizeof(int));
  staging[0] = 1;
  cudaMemcpyAsync(a, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
  staging[0] = 2;  // FIRES: host-write-before-done
  cudaMemcpyAsync(b, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
// CHECK-FIXES: cudaMemcpyAsync(a, staging, sizeof(int), cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: staging[0] = 2;

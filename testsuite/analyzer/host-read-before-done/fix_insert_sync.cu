// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --fix
//
// --fix puts the synchronisation of the copy's stream before the statement that reads.
#include <cuda_runtime.h>

int run(const int* device, cudaStream_t stream) {
  int* host = nullptr;
  cudaMallocHost(&host, sizeof(int));
  cudaMemcpyAsync(host, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
  int value = host[0];  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  cudaFreeHost(host);
  return value;
}
// CHECK-FIXES: cudaMemcpyAsync(host, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: int value = host[0];

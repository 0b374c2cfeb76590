// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host waits for the compute stream, the copy is on another one.
#include <cuda_runtime.h>

int first(const int* d_found) {
  cudaStream_t compute, copy;
  int* found = nullptr;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  cudaMallocHost(reinterpret_cast<void**>(&found), 16 * sizeof(int));
  cudaMemcpyAsync(found, d_found, 16 * sizeof(int), cudaMemcpyDeviceToHost, copy);
#ifdef FIXED
  cudaStreamSynchronize(copy);
#else
  cudaStreamSynchronize(compute);
#endif
  const int result = found[0];  // FIRES: host-read-before-done
  cudaStreamSynchronize(copy);
  cudaFreeHost(found);
  return result;
}

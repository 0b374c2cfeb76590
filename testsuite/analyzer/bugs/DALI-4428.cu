// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// NVIDIA/DALI#4428, WS: a test clears the device buffer with cudaMemset, its copies are on its own stream.
#include <cuda_runtime.h>

#include <vector>

void host_to_device_and_back(int* pinned, size_t bytes) {
  cudaStream_t stream;
  int* device = nullptr;
  cudaMalloc(&device, bytes);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemsetAsync(device, 0, bytes, stream);
#else
  cudaMemset(device, 0, bytes);
#endif
  cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream);  // FIRES: nonblocking-vs-default
  cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(device);
}

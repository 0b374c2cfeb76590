// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// WILD: main() was followed for {{[0-9]+}} steps, until the host reads memory of the device in main:8
#include <cuda_runtime.h>
int main() {
  cudaStream_t stream;
  int* device;
  cudaStreamCreate(&stream), cudaMalloc((void**)&device, 4);
  return *device;
}

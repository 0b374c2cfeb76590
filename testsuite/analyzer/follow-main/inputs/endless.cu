// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ENDLESS: main() was followed for {{[0-9]+}} steps, until calls are too deep
#include <cuda_runtime.h>
int deeper(int n) { return deeper(n + 1) + 1; }
int main() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  return deeper(0);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// WHOLE: main() was followed for {{[0-9]+}} steps, to its end
// WHOLE-NEXT: not known: read_input
// OFF-NOT: main() was followed
#include <cuda_runtime.h>
int read_input(int);
int main() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  return read_input(3);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// OFF-NOT: main() was followed
#include <cuda_runtime.h>
__global__ void work() {}
int main() {
  work<<<1, 1>>>();
}

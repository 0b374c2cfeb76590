// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine without a driver: the program meets the same failure as without StreamSan, and says the same.
// StreamSan adds why it has checked nothing.
//
// REQUIRES: nulldriver, no-driver
// RUN: %build %s -o %t
// RUN: env LD_LIBRARY_PATH= %expect 3 %t > %t.plain 2>&1
// RUN: env LD_LIBRARY_PATH= %expect 3 %run %t > %t.under 2> %t.why
// RUN: %filecheck %s --check-prefix=WHY --input-file %t.why
// RUN: diff %t.plain %t.under
// RUN: %filecheck %s --input-file %t.under
//
// WHY: nothing was checked: {{.*}}there is no CUDA driver (libcuda.so.1
// CHECK: cudaMalloc failed:
#include <cstdio>

int main() {
  char* buffer;
  cudaError_t error = cudaMalloc(&buffer, 4096);
  std::printf("cudaMalloc failed: %d\n", error);
  return error == cudaSuccess ? 0 : 3;
}

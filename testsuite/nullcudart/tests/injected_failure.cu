// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// STREAMSAN_NULL_FAIL makes one call of one driver function fail, and only that; a request that names no function stops
// the program.
//
// RUN: %build_static -o %t
// RUN: %t | %filecheck %s --check-prefix=NONE
// RUN: env STREAMSAN_NULL_FAIL=cuMemAlloc_v2:2:2 %t | %filecheck %s --check-prefix=SECOND
// RUN: env STREAMSAN_NULL_FAIL=cuMemAlloc_v2:1:2,cuMemAlloc_v2:3:999 %t | %filecheck %s --check-prefix=TWO
// RUN: not env STREAMSAN_NULL_FAIL=cuMemAllocate:1:2 %t 2>&1 | %filecheck %s --check-prefix=WRONG

#include "check.h"

int main() {
  for (int i = 0; i < 3; ++i) {
    void* pointer = nullptr;
    const cudaError_t result = cudaMalloc(&pointer, 64);
    std::printf("%s %s\n", cudaGetErrorName(result), pointer != nullptr ? "memory" : "nothing");
  }
}

// NONE: cudaSuccess memory
// NONE-NEXT: cudaSuccess memory
// NONE-NEXT: cudaSuccess memory
// SECOND: cudaSuccess memory
// SECOND-NEXT: cudaErrorMemoryAllocation nothing
// SECOND-NEXT: cudaSuccess memory
// TWO: cudaErrorMemoryAllocation nothing
// TWO-NEXT: cudaSuccess memory
// TWO-NEXT: cudaErrorUnknown nothing
// WRONG: null driver: cannot understand STREAMSAN_NULL_FAIL: cuMemAllocate:1:2

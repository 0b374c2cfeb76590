// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA call that must succeed, or the program ends with its name.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                   \
  do {                                                                \
    const cudaError_t check_result = (call);                          \
    if (check_result != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(check_result)); \
      std::exit(1);                                                   \
    }                                                                 \
  } while (false)

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every program of the GPU suite shares: stop at the first CUDA error, and look at results.
//
// A racy program must not look at its results: any value is possible. A repaired one (-DFIXED) does, through
// expect_all(), so that a run under StreamSan also shows that the recorder changed nothing. The null driver executes no
// kernel, so results are not looked at there (-DNULL_DRIVER).
//
// A comment "site: NAME" at the end of a line names that line for the expectations in suite/cases.py. CHECK() stands on
// one line with its call, so the line of the return address is the line of the comment.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
  std::exit(2);
}
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

template <class T>
void expect_all(const T* values, int count, T expected) {
#if defined(FIXED) && !defined(NULL_DRIVER)
  for (int i = 0; i < count; ++i) {
    if (values[i] == expected) continue;
    std::fprintf(stderr, "value %d is wrong\n", i);
    std::exit(3);
  }
#else
  (void)values, (void)count, (void)expected;
#endif
}

inline int blocks_for(int count) { return (count + 255) / 256; }

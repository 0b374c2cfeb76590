// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs share that are written for the driver API: stop at the first error, and begin.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

inline void check(CUresult result, const char* call, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, text != nullptr ? text : "?");
  std::exit(2);
}
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

/// The device's primary context, which is not made current. The only argument is a PTX file.
inline CUcontext begin(int argc, char** argv, CUdevice* device) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s kernels.ptx\n", argv[0]);
    std::exit(2);
  }
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, *device));
  return context;
}

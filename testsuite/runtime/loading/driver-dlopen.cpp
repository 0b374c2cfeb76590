// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver-API program that opens libcuda at run time and takes every function by dlsym, as many frameworks do.
//
// RUN: %build_host %s -o %t -ldl
// RUN: %racy %t 2>&1 | %report
// RUN: %build_host -DFIXED %s -o %t.fixed -ldl
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <cuda.h>
#include <dlfcn.h>

#include "must.h"

#define STRING(name) STRING_OF(name)
#define STRING_OF(name) #name
// cuda.h renames cuMemAlloc to cuMemAlloc_v2: STRING() sees the versioned export, as dlsym must.
#define LOAD(name) auto* p_##name = reinterpret_cast<decltype(&name)>(dlsym(library, STRING(name)))

int main() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return 97;
  LOAD(cuInit);
  LOAD(cuDeviceGet);
  LOAD(cuDevicePrimaryCtxRetain);
  LOAD(cuCtxSetCurrent);
  LOAD(cuMemAlloc);
  LOAD(cuStreamCreate);
  LOAD(cuMemsetD8Async);
  must(p_cuInit(0));
  CUdevice device;
  must(p_cuDeviceGet(&device, 0));
  CUcontext context;
  must(p_cuDevicePrimaryCtxRetain(&context, device));
  must(p_cuCtxSetCurrent(context));
  CUdeviceptr buffer;
  must(p_cuMemAlloc(&buffer, 4096));
  CUstream s1, s2;
  must(p_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(p_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
#ifdef FIXED
  s2 = s1;
#endif
  must(p_cuMemsetD8Async(buffer, 0, 4096, s1));  // @FIRST
  must(p_cuMemsetD8Async(buffer, 1, 4096, s2));  // @SECOND
}

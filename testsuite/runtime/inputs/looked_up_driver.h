// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the driver, each taken by dlsym from a library that is opened at run time, as many frameworks do it.
// With them: memory, and two streams that nothing orders.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include "must.h"

// cuda.h renames cuMemAlloc to cuMemAlloc_v2: STRING() sees the versioned export, as dlsym must.
#define STRING(name) STRING_OF(name)
#define STRING_OF(name) #name
#define LOAD(name) auto* p_##name = reinterpret_cast<decltype(&name)>(dlsym(library, STRING(name)))

struct LookedUpDriver {
  decltype(&cuMemsetD8Async) fill = nullptr;
  CUdeviceptr buffer = 0;
  CUstream s1 = nullptr;
  CUstream s2 = nullptr;

  bool open() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
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
    must(p_cuMemAlloc(&buffer, 4096));
    must(p_cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
    must(p_cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
    fill = p_cuMemsetD8Async;
    return true;
  }
};

#undef LOAD
#undef STRING_OF
#undef STRING

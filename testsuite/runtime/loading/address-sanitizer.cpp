// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A guest with AddressSanitizer, which intercepts dlsym and dlopen itself and wants to come first. Where its runtime is a
// shared library it refuses to start behind another one, unless it is told not to look: the launcher does that. It still
// finds its own bugs.
//
// RUN: %build_host -fsanitize=address %s -o %t.shared -ldl
// RUN: env ASAN_OPTIONS=detect_leaks=0 %racy %t.shared 2>&1 | %report
// RUN: env ASAN_OPTIONS=detect_leaks=0 %expect 1 %run %t.shared overrun 2>&1 | %filecheck %s --check-prefix=PAST
// RUN: %build_host -DFIXED -fsanitize=address %s -o %t.shared.fixed -ldl
// RUN: env ASAN_OPTIONS=detect_leaks=0 %silent %t.shared.fixed
// RUN: %build_host -fsanitize=address -static-libasan %s -o %t -ldl
// RUN: env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %racy %t 2>&1 | %report
// RUN: %build_host -DFIXED -fsanitize=address -static-libasan %s -o %t.fixed -ldl
// RUN: env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 %silent %t.fixed
//
// PAST: AddressSanitizer: heap-buffer-overflow
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <cuda.h>
#include <dlfcn.h>

#include "must.h"

#define STRING(name) STRING_OF(name)
#define STRING_OF(name) #name
#define LOAD(name) auto* p_##name = reinterpret_cast<decltype(&name)>(dlsym(library, STRING(name)))

int main(int argc, char**) {
  volatile char* heap = new char[1];
  if (argc == 2) heap[1] = 1;
  delete[] heap;
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

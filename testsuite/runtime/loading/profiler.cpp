// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profiler of the program subscribes to CUPTI, which refuses while StreamSan measures kernels. The program gets an
// empty profile, and one line says why. It is linked with CUPTI, or opens it and looks the function up.
//
// RUN: %build_host %s %null/libcuda.so.1 -o %t -ldl
// RUN: %build_host -DLINKED %s %null/libcuda.so.1 %null/cupti/libcupti.so -Wl,-rpath=%null/cupti -o %t.linked
// RUN: env STREAMSAN_NULL_CUPTI=taken %measured SCRIPT %expect 0 %run %t %null/cupti/libcupti.so 39 2>&1 | %filecheck %s
// RUN: env STREAMSAN_NULL_CUPTI=taken %measured SCRIPT %expect 0 %run %t.linked 39 2>&1 | %filecheck %s
//
// Nothing is said where nothing is measured, and where the profiler gets what it asks for.
//
// RUN: env STREAMSAN_NULL_CUPTI=taken %expect 0 %run %t %null/cupti/libcupti.so 39 > %t.inferred 2>&1
// RUN: %expect 1 test -s %t.inferred
// RUN: env STREAMSAN_NULL_CUPTI=taken %expect 0 %run %t.linked 39 > %t.inferred 2>&1
// RUN: %expect 1 test -s %t.inferred
// RUN: %measured SCRIPT %expect 0 %run %t %null/cupti/libcupti.so 0 > %t.served 2>&1
// RUN: %expect 1 test -s %t.served
// RUN: %measured SCRIPT %expect 0 %run %t.linked 0 > %t.served 2>&1
// RUN: %expect 1 test -s %t.served
// REQUIRES: nulldriver
//
// SCRIPT: nothing read #0 4
//
// CHECK: WARNING: streamsan: a profiler of the program gets no kernels
// CHECK-SAME: With --footprints=inferred it gets them
// CHECK-NOT: profiler
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

using Subscribe = int(void**, void (*)(void*, int, unsigned, const void*), void*);

#ifdef LINKED
extern "C" Subscribe cuptiSubscribe;
static Subscribe* subscribe(const char*) { return &cuptiSubscribe; }
#else
static Subscribe* subscribe(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Subscribe*>(dlsym(library, "cuptiSubscribe")) : nullptr;
}
#endif

static void announce(void*, int, unsigned, const void*) {}

int main(int count, char** words) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 2;
  CUdeviceptr memory = 0;  // for a run without any operation a line says that nothing was checked
  if (cuMemAlloc(&memory, 4096) != CUDA_SUCCESS || cuMemsetD8(memory, 0, 4096) != CUDA_SUCCESS) return 2;
  Subscribe* function = subscribe(words[1]);
  if (!function) return 3;
  // Twice, as a profiler that is started again does: one line is enough.
  void* subscriber = nullptr;
  const int first = function(&subscriber, announce, nullptr);
  const int second = function(&subscriber, announce, nullptr);
  const int wanted = std::atoi(words[count - 1]);
  return first == wanted && (wanted == 0 || second == wanted) ? 0 : 4;
}

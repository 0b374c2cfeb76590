// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGetProcAddress in both of its ABIs: four arguments up to CUDA 11, five since 12. What it hands out is wrapped, the
// per-thread-default-stream variants by flag included, and the status argument may be absent.
//
// RUN: %build_host %s -o %t -ldl
// RUN: %racy %t 2>&1 | %report
// RUN: %build_host -DOLD_ABI %s -o %t.old -ldl
// RUN: %racy %t.old 2>&1 | %report
// RUN: %build_host -DFIXED %s -o %t.fixed -ldl
// RUN: %silent %t.fixed
// RUN: %build_host -DOLD_ABI -DFIXED %s -o %t.oldfixed -ldl
// RUN: %silent %t.oldfixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cuMemsetD8{{.*}}per-thread
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cuMemsetD8{{.*}}(non-blocking)
// CHECK: main{{.*}}[[FIRST]]
#include <cuda.h>
#include <dlfcn.h>

#include "must.h"

using OldLookup = CUresult (*)(const char*, void**, int, cuuint64_t);
using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static void* library;

template <typename Function>
Function find(const char* name, cuuint64_t flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM) {
  void* address = nullptr;
#ifdef OLD_ABI
  must(reinterpret_cast<OldLookup>(dlsym(library, "cuGetProcAddress"))(name, &address, 11030, flags));
#else
  must(reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"))(name, &address, 12000, flags, nullptr));
#endif
  if (!address) std::_Exit(98);
  return reinterpret_cast<Function>(address);
}
// Names as programs write them, without a version; the address of cu* itself must not be needed.
#define FIND(name, ...) find<decltype(&name)>(#name, ##__VA_ARGS__)

int main() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return 97;
  must(FIND(cuInit)(0));
  CUdevice device;
  must(FIND(cuDeviceGet)(&device, 0));
  CUcontext context;
  must(FIND(cuDevicePrimaryCtxRetain)(&context, device));
  must(FIND(cuCtxSetCurrent)(context));
  CUdeviceptr buffer;
  must(find<decltype(&cuMemAlloc)>("cuMemAlloc")(&buffer, 4096));
  CUstream stream;
  must(FIND(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  auto* fill = FIND(cuMemsetD8Async);
  auto* fill_per_thread = FIND(cuMemsetD8Async, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  must(fill(buffer, 0, 4096, stream));  // @FIRST
#ifdef FIXED
  must(FIND(cuStreamSynchronize)(stream));
#endif
  must(fill_per_thread(buffer, 0, 4096, nullptr));  // @SECOND
}

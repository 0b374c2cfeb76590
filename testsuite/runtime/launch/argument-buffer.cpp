// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver API can pass all arguments packed in one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER) in place of an array of
// pointers.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume(float const*, int)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cuMemsetD8Async
// CHECK: main{{.*}}[[WRITE]]
#include <cuda.h>

#include "first_device.h"
#include "must.h"

static const char kModule[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z7consumePKfi(.param .u64 pointer, .param .u32 count)
{
  ret;
}
)";

int main() {
  use_first_device();
  CUmodule module;
  must(cuModuleLoadData(&module, kModule));
  CUfunction consume;
  must(cuModuleGetFunction(&consume, module, "_Z7consumePKfi"));
  CUdeviceptr buffer;
  must(cuMemAlloc(&buffer, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
#ifdef FIXED
  s2 = s1;
#endif
  must(cuMemsetD8Async(buffer, 0, 4096, s1));  // @WRITE
  struct {
    CUdeviceptr pointer;
    int count;
  } arguments = {buffer, 7};
  size_t size = sizeof arguments;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  must(cuLaunchKernel(consume, 1, 1, 1, 32, 1, 1, 0, s2, nullptr, extra));  // @READ
}

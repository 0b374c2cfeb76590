// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointers hidden in a structure that is passed by value are found as well. What the kernel does with them, if
// anything, its signature does not say: possible, not an error. (As a driver program with PTX, because the null driver
// learns the size of a structure from PTX only.)
//
// RUN: %build_driver %s -o %t
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %expect 0 %run %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: write-after-write
// CHECK: transform(Job)
// CHECK: main{{.*}}[[KERNEL]]
// CHECK: cuMemsetD8Async
// CHECK: main{{.*}}[[CLEAR]]
#include <cuda.h>

#include "first_device.h"
#include "must.h"

struct Job {
  int id;
  CUdeviceptr from;
  CUdeviceptr to;
  double factor;
};

static const char kModule[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z9transform3Job(.param .align 8 .b8 _Z9transform3Job_param_0[32])
{
  ret;
}
)";

int main() {
  use_first_device();
  CUmodule module;
  must(cuModuleLoadData(&module, kModule));
  CUfunction transform;
  must(cuModuleGetFunction(&transform, module, "_Z9transform3Job"));
  CUdeviceptr from, to;
  must(cuMemAlloc(&from, 4096));
  must(cuMemAlloc(&to, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_DEFAULT));
  must(cuStreamCreate(&s2, CU_STREAM_DEFAULT));
#ifdef FIXED
  s2 = s1;
#endif
  must(cuMemsetD8Async(to, 0, 4096, s1));  // @CLEAR
  Job job = {1, from, to, 2.0};
  void* arguments[] = {&job};
  must(cuLaunchKernel(transform, 1, 1, 1, 32, 1, 1, 0, s2, arguments, nullptr));  // @KERNEL
}

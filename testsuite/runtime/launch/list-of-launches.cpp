// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cooperative launch on several devices: by default it comes after the earlier work of all streams of its list, and
// later work in them after all of its kernels (R-LCH-05). The flags take either away.
//
// RUN: %build_driver %s -o %t
// RUN: %silent %t
// RUN: %build_driver -DFLAGS=CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC %s -o %t.pre
// RUN: %racy %t.pre 2>&1 | %report --check-prefix=PRE
// RUN: %build_driver -DFLAGS=CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC %s -o %t.post
// RUN: %racy %t.post 2>&1 | %report --check-prefix=POST
//
// PRE: ERROR: streamsan: read-after-write race on device memory
// PRE: Read by kernel read_all{{.*}} on stream 2
// PRE: main{{.*}}[[LAUNCH]]
// PRE: write by cuMemsetD32Async
// PRE: SUMMARY: streamsan: 1 error
//
// POST: ERROR: streamsan: write-after-read race on device memory
// POST: Write by cuMemsetD8Async
// POST: read by kernel read_all{{.*}} on stream 2
// POST: SUMMARY: streamsan: 1 error
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "first_device.h"
#include "must.h"

#ifndef FLAGS
#define FLAGS 0
#endif

constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry _Z8read_allPKfPf(.param .u64 source, .param .u64 target) {
  .reg .u64 %rd<5>;
  .reg .u32 %r<4>;
  ld.param.u64 %rd1, [source];
  ld.param.u64 %rd2, [target];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  ld.global.u32 %r2, [%rd4];
  add.u64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r2;
  ret;
}
)";

int main() {
  use_first_device();
  CUdeviceptr in, out;
  must(cuMemAlloc_v2(&in, 4096));
  must(cuMemAlloc_v2(&out, 4096));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  CUmodule module;
  must(cuModuleLoadData(&module, kPtx));
  CUfunction read_all;
  must(cuModuleGetFunction(&read_all, module, "_Z8read_allPKfPf"));
  CUdeviceptr unused;
  must(cuMemAlloc_v2(&unused, 4096));
  void* none[2] = {&unused, &unused};
  void* arguments[2] = {&in, &out};
  // Before the launch in the other stream, and after it.
  must(cuMemsetD32Async(in, 1, 1024, s1));
  CUDA_LAUNCH_PARAMS list[2] = {{read_all, 1, 1, 1, 1024, 1, 1, 0, s1, none},
                                {read_all, 1, 1, 1, 1024, 1, 1, 0, s2, arguments}};
  must(cuLaunchCooperativeKernelMultiDevice(list, 2, FLAGS));  // @LAUNCH
  must(cuMemsetD8Async(in, 2, 4096, s1));
}

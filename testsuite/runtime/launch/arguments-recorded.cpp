// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a launch go into the trace for those who compute footprints from code: of the first of equal
// launches, if there are any and not more than 512 bytes.
//
// RUN: %build_driver %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=footprints=inferred,trace_path=%t.trace %t
// RUN: %trace_records %t.trace Arguments > %t.records
// RUN: %filecheck %s < %t.records
//
// CHECK: Arguments flags=0 no-stack 0x{{[0-9a-f]+}} 0x{{[0-9a-f]+}} 0x4 0x0
// CHECK-NEXT: Arguments flags=0 no-stack 0x{{[0-9a-f]+}} 0x{{[0-9a-f]+}} 0x4 0x0
// CHECK-NEXT: Arguments flags=0 no-stack 0x{{[0-9a-f]+}} 0x{{[0-9a-f]+}} 0x200 0x0
// CHECK-NOT: Arguments
#include <cuda.h>

#include "first_device.h"
#include "must.h"

static const char kModule[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry number(.param .u32 value) { ret; }
.visible .entry largest(.param .align 8 .b8 table[512]) { ret; }
.visible .entry too_large(.param .align 8 .b8 table[520]) { ret; }
)";

int main() {
  use_first_device();
  CUmodule module;
  must(cuModuleLoadData(&module, kModule));
  const auto launch = [module](const char* name, void* argument) {
    CUfunction function;
    must(cuModuleGetFunction(&function, module, name));
    void* arguments[] = {argument};
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  };
  int one = 1, two = 2;
  char table[520] = {};
  for (int i = 0; i < 3; ++i) {
    launch("nothing", nullptr);
    launch("number", &one);
    launch("number", &two);
    launch("largest", table);
    launch("too_large", table);
  }
  must(cuCtxSynchronize());
}

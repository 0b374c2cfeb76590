// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver is used before main (in a constructor that runs very early) and after it (in an exit handler): our
// functions are called before our own constructors and after the program's exit has begun. Every call is seen, and the
// program's output is its own. Without the launcher a line on stderr says where the trace is, in one line whatever its
// name.
//
// RUN: %build_driver %s -o %t
// RUN: %t > %t.plain
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t > %t.out 2> %t.err
// RUN: cmp %t.plain %t.out
// RUN: %filecheck %s --check-prefix=WRITTEN --input-file %t.err
// RUN: %python -c 'import os, sys; os.environ.update(LD_PRELOAD=sys.argv[1], STREAMSAN_OPTIONS="trace_path=\"%t.\n::error::x\""); os.execv("%t", ["%t"])' %preload 2>&1 | %filecheck %s --check-prefix=ONE-LINE
// RUN: %expect 0 %run %t > %t.run 2> %t.run.err
// RUN: cmp %t.plain %t.run
// RUN: not test -s %t.run.err
// RUN: %trace_counts %t.trace | %filecheck %s
// RUN: %racy %t race 2>&1 | %report --check-prefix=RACE
//
// WRITTEN: streamsan[{{[0-9]+}}]: trace written to {{.*}}before-and-after-main.cpp.tmp.trace: streamsan check {{.*}}before-and-after-main.cpp.tmp.trace
// WRITTEN-NOT: {{.}}
// ONE-LINE-NOT: {{^}}::error
// ONE-LINE: trace written to {{.*}} ::error::x
// ONE-LINE-NOT: {{^}}::error
// CHECK-DAG: cuMemsetD8Async 3
// CHECK-DAG: cuStreamCreate 1
// RACE: ERROR: streamsan: write-after-write
// RACE: after_main{{.*}}[[LATE]]
// RACE: main{{.*}}[[MIDDLE]]
#include <cuda.h>

#include <cstring>

#include "first_device.h"
#include "must.h"

static CUdeviceptr buffer;
static CUstream stream;
static bool racy;

__attribute__((constructor(101))) static void before_main(int argc, char** argv) {
  racy = argc > 1 && !std::strcmp(argv[1], "race");
  use_first_device();
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuMemAlloc(&buffer, 4096));
  must(cuMemsetD8Async(buffer, 1, 4096, stream));
}

static void after_main() {
  CUstream where = stream;
  if (racy) must(cuStreamCreate(&where, CU_STREAM_NON_BLOCKING));
  must(cuMemsetD8Async(buffer, 2, 4096, where));  // @LATE
  must(cuCtxSynchronize());
  std::puts("after main");
}

int main() {
  must(cuMemsetD8Async(buffer, 3, 4096, stream));  // @MIDDLE
  std::atexit(after_main);
  std::puts("main");
}

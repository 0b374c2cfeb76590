// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels in two streams, of 200 ms each, and the host waits in between: it is blocked for both, and the second could
// have run beside the first. Without that wait, or in one stream, nothing is lost.
//
// RUN: %build %s -o %t
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %streamsan run --syncs --json %t.json -- %t > %t.out 2>&1
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %run %t.fixed 2>&1 | %filecheck %s --check-prefix=FIXED
// RUN: %build -DONE_STREAM %s -o %t.one
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %run %t.one 2>&1 | %filecheck %s --check-prefix=ONE
// REQUIRES: nulldriver
//
// CHECK: timings: 2 calls, 2 times, 0 of other calls, 0 records without times, 0 dropped
// CHECK: the host was blocked for {{[1-9][0-9]+(\.[0-9])?}} ms of {{[0-9.]+}} ms in 2 blocking calls; because of it the GPU idled for up to {{[0-9.]+}} ms, and up to {{[1-9][0-9]*(\.[0-9])?}} ms of work could have overlapped{{$}}
// FIXED: in 1 blocking call; because of it the GPU idled for up to 0.000 ms, and up to 0.000 ms of work could have overlapped{{$}}
// ONE: in 2 blocking calls; because of it the GPU idled for up to {{[0-9.]+}} ms, and up to 0.000 ms of work could have overlapped{{$}}
//
// JSON-DAG: sync.blocked_ms = {{[1-9][0-9]}}
// JSON-DAG: sync.gpu_idle_ms
// JSON-DAG: sync.overlap_ms = {{[1-9]}}
#include "syncs.h"

int main() {
  float *a = device_floats(), *b = device_floats();
  cudaStream_t first = non_blocking_stream();
#ifdef ONE_STREAM
  cudaStream_t second = first;
#else
  cudaStream_t second = non_blocking_stream();
#endif
  run_set(first, a, 1);
#ifndef FIXED
  must(cudaStreamSynchronize(first));
#endif
  run_set(second, b, 1);
  must(cudaDeviceSynchronize());
}

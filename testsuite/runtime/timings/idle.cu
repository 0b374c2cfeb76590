// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for a kernel of 200 ms, needs 10 ms for itself, and submits the next: for 10 ms the GPU had nothing to do,
// which it would have had if the host had not waited. If it does not wait there is no gap to speak of.
//
// RUN: %build %s -o %t
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %run %t 2>&1 | %filecheck %s
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 STREAMSAN_NULL_CUPTI=own-clock %expect 0 %run %t 2>&1 | %filecheck %s
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %run %t.fixed 2>&1 | %filecheck %s --check-prefix=FIXED
// REQUIRES: nulldriver
//
// CHECK: in 2 blocking calls; because of it the GPU idled for up to {{[1-9][0-9]+(\.[0-9])?}} ms, and up to 0.000 ms of work could have overlapped{{$}}
// FIXED: in 1 blocking call; because of it the GPU idled for up to 0.000 ms, and up to 0.000 ms of work could have overlapped{{$}}
#include <unistd.h>

#include "syncs.h"

int main() {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
#ifndef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  usleep(10000);
  run_set(stream, a, 2);
  must(cudaDeviceSynchronize());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a program that is killed the times are known that CUPTI had handed out by then, which is done now and then.
// What is still running when a program ends has none; the line says of how many operations there are times.
//
// RUN: %build %s -o %t
// RUN: %timed %expect 137 %run %t killed 2>&1 | %filecheck %s --check-prefix=KILLED
// RUN: %timed STREAMSAN_NULL_GPU_US=100000000 %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s --check-prefix=BUSY
// RUN: %timed %expect 0 %streamsan run -v 2 -- %t waits 2>&1 | %filecheck %s --check-prefix=WHOLE
// RUN: %timed STREAMSAN_NULL_CUPTI=hangs %expect 0 %run %t waits 2>&1 | %filecheck %s --check-prefix=HANGS
// REQUIRES: nulldriver
//
// KILLED: in 1 blocking call; because of it the GPU idled for up to {{.*}} overlapped{{$}}
// BUSY: timings: 3 calls, 0 times, 0 of other calls, 3 records without times, 0 dropped
// WHOLE: timings: 3 calls, 3 times, 0 of other calls, 0 records without times, 0 dropped
// HANGS: timings: CUPTI did not hand out its records in time: the last times are missing
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "syncs.h"

int main(int argc, char** argv) {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int i = 0; i < 3; ++i) run_set(stream, a, 1);
  if (argc == 1) return 0;
  must(cudaDeviceSynchronize());
  if (std::strcmp(argv[1], "killed") != 0) return 0;
  usleep(1000000);
  std::raise(SIGKILL);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where times cannot be had one line says why, and the run goes on: how long the host was blocked is known all the same.
// Only what excludes itself ends the run before it starts. Where all is well there is no such line.
//
// RUN: %build %s -o %t
// RUN: %no_cupti %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=NO-FILE,GOES-ON --implicit-check-not=timings:
// RUN: echo text > %t.text
// RUN: %no_cupti %expect 0 %streamsan run --cupti-library=%t.text -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=NO-LIBRARY,GOES-ON
// RUN: %no_cupti %expect 0 %streamsan run --cupti-library=%null/libcuda.so.1 -- %t 2>&1 \
// RUN:   | %filecheck %s --check-prefixes=TOO-OLD,GOES-ON
// RUN: %timed STREAMSAN_NULL_CUPTI=taken %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=TAKEN,GOES-ON
// RUN: %timed STREAMSAN_NULL_CUPTI=refused %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=REFUSED,GOES-ON
// RUN: %timed STREAMSAN_NULL_CUPTI=no-calls %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=NO-CALLS,GOES-ON
// RUN: %timed STREAMSAN_NULL_CUPTI=no-kernels %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=NO-KERNELS,GOES-ON
// RUN: %timed STREAMSAN_NULL_CUPTI=dropped %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=DROPPED
// RUN: %timed %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=WELL --implicit-check-not=timings:
// RUN: %expect 2 %streamsan run --timings --footprints=measured -- %t 2>&1 | %filecheck %s --check-prefix=EXCLUDE
// RUN: %expect 0 %streamsan run -- %t > %t.out 2>&1
// RUN: %expect 1 test -s %t.out
// REQUIRES: nulldriver
//
// NO-FILE: streamsan: operations on the GPU will have no times: there is no {{.*}}.none
// NO-LIBRARY: timings: operations on the GPU have no times: {{.*}}.text
// TOO-OLD: timings: operations on the GPU have no times: the CUPTI library lacks functions: it is too old
// TAKEN: timings: operations on the GPU have no times: another tool uses CUPTI in this process (a profiler?), and only one can
// REFUSED: timings: operations on the GPU have no times: subscribing failed: CUPTI error 15 (NULL_CUPTI_REFUSED)
// NO-CALLS: timings: operations on the GPU have no times: CUPTI announces no calls of the driver
// NO-KERNELS: timings: operations on the GPU have no times: recording activity failed: CUPTI error 27 (NULL_CUPTI_NOT_SUPPORTED)
// GOES-ON-NOT: no times
// GOES-ON: the host was blocked for {{[0-9.]+}} ms of {{[0-9.]+}} ms in 1 blocking call{{$}}
// DROPPED: timings: CUPTI dropped the times of 3 operations
// WELL: in 1 blocking call; because of it the GPU idled
// EXCLUDE: streamsan: --timings and footprints=measured exclude each other
#include "syncs.h"

int main() {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());
}

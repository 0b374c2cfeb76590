// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel reports an error: whichever thread is first writes the message, and then a status word in pinned memory that
// the host looks at while the kernel runs. A volatile store is seen by the host (R-UM-11), so that is at most possible,
// though what was measured of it is a store like any other, and though `taken`, in device memory, is updated by an
// atomic operation of the device. A plain store promises the host nothing.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 66 %streamsan run --kernel_code=1 -- %t 2>&1 | %report
// RUN: %build -DSIGNAL %s -o %t.signal
// RUN: %measured SCRIPT %expect 0 %streamsan run --kernel_code=1 --min_severity=possible -- %t.signal 2>&1 | %report --check-prefix=SIGNAL
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured SCRIPT %expect 0 %streamsan run --kernel_code=1 --min_severity=possible -- %t.fixed > %t.out 2>&1
// RUN: %expect 1 test -s %t.out
//
// SCRIPT: look write #0 4
// SCRIPT: look atomic #1 4
// SCRIPT: look write #2 4
//
// CHECK: ERROR: streamsan: {{.*}}host race on pinned host memory
// CHECK: Previous write by kernel look
// CHECK: main{{.*}}[[LOOK]]
// CHECK: Fix:
//
// SIGNAL-NOT: ERROR
// SIGNAL: POSSIBLE: streamsan: {{.*}}host race on pinned host memory
// SIGNAL: Previous write by kernel look
// SIGNAL: The kernel's stores there are atomic for the host, too (R-UM-11).
// SIGNAL-NOT: ERROR
#include "must.h"

__global__ void look(int* status, int* taken, int* message) {
  if (atomicExch(taken, 1) != 0) return;
  *message = 7;
  __threadfence_system();
#ifdef SIGNAL
  *static_cast<volatile int*>(status) = 1;
#else
  *status = 1;
#endif
}

int main() {
  int *status, *taken, *message;
  must(cudaMallocHost(&status, 4096));
  must(cudaMallocHost(&message, 4096));
  must(cudaMalloc(&taken, 4096));
  must(cudaMemset(taken, 0, sizeof(int)));
  *status = 0;
  must(cudaDeviceSynchronize());
  look<<<1, 64>>>(status, taken, message);  // @LOOK
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaDeviceSynchronize());
#endif
  // Once, as a program does between two steps: whoever waits for it in a loop gets it at some time.
  const bool failed = *static_cast<volatile int*>(status) != 0;
  must(cudaDeviceSynchronize());
  return failed && *message != 7 ? 1 : 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory is freed while a kernel of the other device uses it. cudaFree waits for the device that the memory was
// made on, whichever is current, and for no other: on two H200 the kernel of such a program ends in an illegal access.
// The twin's memory was made where it is used: then today's driver waits, and the report is of what it leans on.
//
// Where the kernel faults before cudaFree returns, that call is the first to say so. It is judged as if it had succeeded:
// nothing behind an error that ends its context is checked, and the report would be lost with the crash it explains.
// (It is the second cuMemFree; the first is that of no memory.)
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %racy %t 2>&1 | %report
// RUN: %build -DMADE_THERE %s -o %t.there
// RUN: env STREAMSAN_NULL_DEVICES=2 %run %t.there 2>&1 | %filecheck %s --check-prefix=THERE
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_NULL_DEVICES=2 %silent %t.fixed
//
// RUN: env STREAMSAN_NULL_DEVICES=2 STREAMSAN_NULL_FAIL=cuMemFree_v2:2:700 %racy %t 2>&1 | %report --check-prefixes=CHECK,FAULT
// RUN: env STREAMSAN_NULL_DEVICES=2 STREAMSAN_NULL_FAIL=cuMemFree_v2:2:700 %expect 99 %run %t.fixed 2>&1 | %filecheck %s --check-prefix=ENDED
// RUN: env STREAMSAN_NULL_DEVICES=2 STREAMSAN_NULL_FAIL=cuMemFree_v2:2:1 %expect 99 %run %t 2>&1 | %filecheck %s --check-prefix=REFUSED --allow-empty
//
// ENDED-NOT: ERROR: streamsan:
// ENDED: WARNING: streamsan: cuMemFree failed with illegal memory access (700)
// ENDED-NOT: ERROR: streamsan:
// REFUSED-NOT: ERROR: streamsan:
//
// CHECK: ERROR: streamsan: free-while-in-use on managed memory
// CHECK: Free{{.*}}cudaFree
// CHECK: main{{.*}}[[FREE]]
// CHECK: use{{.*}} on stream 1 of device 1 (non-blocking)
// CHECK: main{{.*}}[[USE]]
// CHECK: hazard=free-while-in-use severity=error
// CHECK-NOT: ERROR: streamsan:
// FAULT: WARNING: streamsan: cuMemFree failed with illegal memory access (700)
// THERE-NOT: ERROR: streamsan:
// THERE: hazard=free-while-in-use severity=latent
#include "must.h"

__global__ void use(int*) {}

int main() {
  int* shared;
  cudaStream_t stream;
  must(cudaFree(nullptr));
  must(cudaSetDevice(1));
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifndef MADE_THERE
  must(cudaSetDevice(0));
#endif
  must(cudaMallocManaged(&shared, sizeof(int)));
  must(cudaSetDevice(1));
  use<<<1, 32, 0, stream>>>(shared);  // @USE
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  must(cudaFree(shared));  // @FREE
  return 0;
}

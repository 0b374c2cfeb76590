// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default streams of two devices know nothing of each other (R-STR-22). A copy from one device to the other in a
// default stream waits for both and lets both wait (R-CPY-40), by whichever function.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_NULL_DEVICES=2 %silent %t.fixed
// RUN: %build -DFIXED -DBY_ADDRESS %s -o %t.address
// RUN: env STREAMSAN_NULL_DEVICES=2 %silent %t.address
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}legacy default stream of device 1
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}legacy default stream of device 0
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *near, *far;
  must(cudaMalloc(&near, kBytes));
  must(cudaSetDevice(1));
  must(cudaMalloc(&far, kBytes));

  must(cudaSetDevice(0));
  produce<<<1, 32>>>(near);  // @WRITE
  must(cudaSetDevice(1));
#if defined(BY_ADDRESS)
  must(cudaMemcpyAsync(far, near, kBytes, cudaMemcpyDefault, 0));
  consume<<<1, 32>>>(far);
#elif defined(FIXED)
  must(cudaMemcpyPeer(far, 1, near, 0, kBytes));
  consume<<<1, 32>>>(far);
#else
  must(cudaDeviceEnablePeerAccess(0, 0));
  consume<<<1, 32>>>(near);  // @READ
#endif
#ifdef FIXED
  must(cudaSetDevice(0));
  produce<<<1, 32>>>(near);  // waits for the copy, too
#endif
  must(cudaGetLastError());
}

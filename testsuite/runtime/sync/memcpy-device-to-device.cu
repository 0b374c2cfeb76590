// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A "synchronous" device-to-device copy returns while it runs (R-CPY-04).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpy {{.*}}legacy
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 1 << 20;
  char *from, *to;
  must(cudaMalloc(&from, kBytes));
  must(cudaMalloc(&to, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaMemcpy(to, from, kBytes, cudaMemcpyDeviceToDevice));  // @WRITE
#ifdef FIXED
  must(cudaDeviceSynchronize());
#endif
  consume<<<1, 32, 0, stream>>>(to);  // @READ
  must(cudaGetLastError());
}

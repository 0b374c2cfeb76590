// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each turn uploads from pageable memory, by a copy that is asynchronous in name only. From pinned memory it is.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: pageable-copy: 8 asynchronous copies from pageable host memory, 16 MiB in all.
// CHECK-NEXT: Evidence: 8 of 8 copies are of more than 64 KiB, 16 MiB in all, with kernels between 8 of them. A copy of pageable memory is staged through a pinned buffer of the driver, may block the host and does not overlap with other work.
// CHECK-NEXT: cudaMemcpyAsync (host to device) on stream 1 (blocking), op #1
// CHECK-NEXT: main{{.*}}[[COPY]]
// CHECK-NEXT: Fix: use pinned memory, from cudaMallocHost.
// CHECK-NEXT: kind=hint hazard=pageable-copy severity=note cause=pageable-copy streams=stream-1 ops=1 count=1
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <cstdlib>

#include "must.h"

__global__ void use(const char*) {}

int main() {
  constexpr size_t kBytes = 2 << 20;
  char *device, *host;
  must(cudaMalloc(&device, kBytes));
#ifdef FIXED
  must(cudaMallocHost(&host, kBytes));
#else
  host = static_cast<char*>(malloc(kBytes));
#endif
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (int i = 0; i < 8; ++i) {
    host[0] = static_cast<char>(i);
    must(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));  // @COPY
    use<<<1, 32, 0, stream>>>(device);
    must(cudaStreamSynchronize(stream));
  }
}

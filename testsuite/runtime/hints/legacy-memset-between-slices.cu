// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaMemset without a stream, once for each slice: no two slices are worked on at the same time. cudaMemsetAsync in
// the stream of the slice makes nobody wait.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: legacy-serialisation: cudaMemset in the legacy default stream makes independent streams wait for each other.
// CHECK: Evidence: 15 times it stood
// CHECK: cudaMemset on the legacy default stream
// CHECK-NEXT: main{{.*}}[[MEMSET]]
// CHECK-NOT: NOTE: streamsan: legacy
#include "must.h"

__global__ void work(char*) {}

int main() {
  constexpr int kSlices = 4;
  char* slices[kSlices];
  cudaStream_t streams[kSlices];
  for (char*& each : slices) must(cudaMalloc(&each, 4096));
  for (cudaStream_t& each : streams) must(cudaStreamCreate(&each));
  for (int i = 0; i < 4 * kSlices; ++i) {
#ifdef FIXED
    must(cudaMemsetAsync(slices[i % kSlices], 0, 4096, streams[i % kSlices]));
#else
    must(cudaMemset(slices[i % kSlices], 0, 4096));  // @MEMSET
#endif
    work<<<1, 32, 0, streams[i % kSlices]>>>(slices[i % kSlices]);
  }
  must(cudaDeviceSynchronize());
}

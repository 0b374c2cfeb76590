// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A set-up uploads many buffers once, before any kernel uses them: pinning memory for that would cost more than it
// saves. The same copies with a kernel behind each are made while the program works.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: pageable-copy: 16 asynchronous copies from pageable host memory, 16 MiB in all.
// CHECK: main{{.*}}[[COPY]]
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <vector>

#include "must.h"

__global__ void use(const char*) {}

int main() {
  constexpr size_t kBytes = 1 << 20;
  std::vector<char> host(kBytes);
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  std::vector<char*> weights(16);
  for (char*& each : weights) must(cudaMalloc(&each, kBytes));
  for (char* each : weights) {
    must(cudaMemcpyAsync(each, host.data(), kBytes, cudaMemcpyHostToDevice, stream));  // @COPY
#ifndef FIXED
    use<<<1, 32, 0, stream>>>(each);
#endif
  }
#ifdef FIXED
  for (char* each : weights) use<<<1, 32, 0, stream>>>(each);
#endif
  must(cudaStreamSynchronize(stream));
}

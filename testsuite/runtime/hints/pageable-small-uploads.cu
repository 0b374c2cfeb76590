// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Up to 64 KiB are staged at once: a copy of a few arguments is not worth a hint, however often it is made.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: pageable-copy: 200 asynchronous copies from pageable host memory, 25 MiB in all.
// CHECK-NEXT: 200 of 200 copies are of more than 64 KiB
// CHECK: main{{.*}}[[COPY]]
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <vector>

#include "must.h"

__global__ void use(const char*) {}

#ifdef FIXED
constexpr size_t kBytes = 64 << 10;
#else
constexpr size_t kBytes = 128 << 10;
#endif

int main() {
  std::vector<char> host(kBytes);
  char* device;
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (int i = 0; i < 200; ++i) {
    must(cudaMemcpyAsync(device, host.data(), kBytes, cudaMemcpyHostToDevice, stream));  // @COPY
    use<<<1, 32, 0, stream>>>(device);
    must(cudaStreamSynchronize(stream));
  }
}

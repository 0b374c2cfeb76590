// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of malloc that was registered is pinned.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: pageable-copy: 10 asynchronous copies to pageable host memory, 20 MiB in all.
// CHECK: main{{.*}}[[COPY]]
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <cstdlib>

#include "must.h"

__global__ void produce(char*) {}

int main() {
  constexpr size_t kBytes = 2 << 20;
  char* device;
  must(cudaMalloc(&device, kBytes));
  char* host = static_cast<char*>(aligned_alloc(4096, kBytes));
#ifdef FIXED
  must(cudaHostRegister(host, kBytes, cudaHostRegisterDefault));
#endif
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  for (int i = 0; i < 10; ++i) {
    produce<<<1, 32, 0, stream>>>(device);
    must(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream));  // @COPY
    must(cudaStreamSynchronize(stream));
  }
}

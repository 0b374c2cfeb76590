// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From pinned memory the synchronous upload is complete when it returns (R-CPY-02): silent. The asynchronous one is
// not.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DASYNC %s -o %t.async
// RUN: %racy %t.async 2>&1 | %report
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 1 << 20;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef ASYNC
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice));  // @WRITE
#else
  must(cudaMemcpy(buffer, host, kBytes, cudaMemcpyHostToDevice));
#endif
  consume<<<1, 32, 0, stream>>>(buffer);  // @READ
  must(cudaGetLastError());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A synchronous download is complete when it returns (R-CPY-03): overwriting its source in a non-blocking stream is
// fine.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DASYNC %s -o %t.async
// RUN: %racy %t.async 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef ASYNC
  must(cudaMemcpyAsync(host, buffer, kBytes, cudaMemcpyDeviceToHost));  // @READ
#else
  must(cudaMemcpy(host, buffer, kBytes, cudaMemcpyDeviceToHost));
#endif
  must(cudaMemsetAsync(buffer, 0, kBytes, stream));  // @WRITE
}

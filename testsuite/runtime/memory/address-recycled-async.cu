// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pool hands out a freed address again, in stream order, without the host ever waiting: silent. One buffer kept for
// all rounds is a race.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DKEEP %s -o %t.keep
// RUN: %racy %t.keep 2>&1 | %report
//
// CHECK: ERROR: streamsan:
// CHECK: main{{.*}}[[USE]]
#include "must.h"

int main() {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* buffer = nullptr;
  for (int i = 0; i < 8; ++i) {
    cudaStream_t stream = streams[i % 2];
#ifdef KEEP
    if (!buffer)
#endif
      must(cudaMallocAsync(&buffer, 1 << 20, stream));
    must(cudaMemsetAsync(buffer, i, 1 << 20, stream));  // @USE
#ifndef KEEP
    must(cudaFreeAsync(buffer, stream));
#endif
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver hands out a freed address again. The new allocation is not the old one: work of the old one in another
// stream is no race with work of the new one.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>%t.err | %filecheck %s
// RUN: %filecheck %s --check-prefix=ERR --allow-empty --input-file %t.err
// RUN: %build -DKEEP %s -o %t.keep
// RUN: %racy %t.keep 2>&1 | %sites --check-prefix=KEEP
//
// CHECK: addresses recycled
// ERR-NOT: {{.}}
// KEEP: ERROR: streamsan: write-after-write
// KEEP: main{{.*}}[[USE]]
// KEEP: main{{.*}}[[USE]]
#include "must.h"

__global__ void update(char*, int) {}

int main() {
  char *buffer = nullptr, *before = nullptr;
  int recycled = 0;
  for (int i = 0; i < 8; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef KEEP
    if (!buffer)
#endif
      must(cudaMalloc(&buffer, 1 << 21));
    recycled += buffer == before;
    before = buffer;
    must(cudaMemsetAsync(buffer, i, 1 << 21, stream));  // @USE
#ifndef KEEP
    must(cudaStreamSynchronize(stream));
    must(cudaFree(buffer));
#endif
  }
  std::printf("addresses %s\n", recycled ? "recycled" : "never recycled");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next batch is read into the source of a copy that may not have begun. The call is given a buffer of which the
// file fills a part only; the twin reads into another buffer of the same allocation.
//
// RUN: %build %s -o %t
// RUN: %racy %t %s 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed %s
//
// CHECK: ERROR: streamsan:
// CHECK: read
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[COPY]]
#include <fcntl.h>
#include <unistd.h>

#include "must.h"

int main(int, char** arguments) {
  constexpr size_t kBytes = 1 << 16;
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 2 * kBytes));
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  int file = open(arguments[1], O_RDONLY);
  char* next = pinned;
#ifdef FIXED
  next += kBytes;
#endif
  must(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));  // @COPY
  bool some = read(file, next, kBytes) > 0;                                       // @READ
  must(cudaStreamSynchronize(stream));
  if (!some) return 98;
}

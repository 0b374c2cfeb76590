// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device that goes by the host's page tables, as on Grace: a page that the host cannot access the device cannot
// either, perhaps, so none is protected. What the host does by instructions is not seen then; what it hands to libc is.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: %racy %t read 2>&1 | %sites --check-prefix=READ
// RUN: env STREAMSAN_NULL_HOST_PAGES=1 %silent %t read
// RUN: env STREAMSAN_NULL_HOST_PAGES=1 %racy %t write 2>&1 | %sites --check-prefix=CALL
// RUN: env STREAMSAN_NULL_HOST_PAGES=1 STREAMSAN_OPTIONS=verbosity=1,footprints=inferred %run %t read 2>&1 | %sites --check-prefix=SAID
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed read
// RUN: env STREAMSAN_NULL_HOST_PAGES=1 %silent %t.fixed write
//
// READ: ERROR: streamsan: read-after-write host race on pinned host memory
// READ-NEXT: Read by the host
// READ-NEXT: main{{.*}}[[TOUCH]]
// CALL: ERROR: streamsan: read-after-write host race on pinned host memory
// CALL-NEXT: Read by write() on the host
// CALL-NEXT: main{{.*}}[[CALL]]
// SAID: no page of host memory is guarded: device 0 uses the host's page tables
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "must.h"

int main(int, char** arguments) {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 4096));
  must(cudaMalloc(&device, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, stream));
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  int sum = 0;
  if (std::strcmp(arguments[1], "read") == 0) {
    sum = pinned[0];  // @TOUCH
  } else {
    const int file = open("/dev/null", O_WRONLY);
    sum = static_cast<int>(write(file, pinned, 4096));  // @CALL
  }
  return sum == -1;
}

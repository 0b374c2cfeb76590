// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program sends what a copy from the device has not brought yet. The page is protected at that moment: the kernel
// must find it as if it were not.
//
// RUN: %build %s -o %t
// RUN: %racy %t %t.data 2>&1 | %sites --check-prefixes=CHECK,WRITE
// RUN: %build -DVECTOR %s -o %t.vector
// RUN: %racy %t.vector %t.data 2>&1 | %sites --check-prefixes=CHECK,WRITEV
// RUN: %build -DSTDIO %s -o %t.stdio
// RUN: %racy %t.stdio %t.data 2>&1 | %sites --check-prefixes=CHECK,FWRITE
// RUN: %build -DBY_NUMBER %s -o %t.number
// RUN: %racy %t.number %t.data 2>&1 | %sites --check-prefixes=CHECK,SYSCALL
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed %t.data
//
// CHECK: ERROR: streamsan:
// CHECK-SAME: read-after-write host race on pinned host memory {{.*}} [65536 bytes overlap]
// WRITE-NEXT: Read by write() on the host
// WRITE-NEXT: main{{.*}}[[WRITE]]
// WRITEV-NEXT: Read by writev() on the host
// WRITEV-NEXT: main{{.*}}[[WRITEV]]
// FWRITE-NEXT: Read by fwrite() on the host
// FWRITE-NEXT: main{{.*}}[[FWRITE]]
// SYSCALL-NEXT: Read by syscall() on the host
// SYSCALL-NEXT: main{{.*}}[[SYSCALL]]
// CHECK-NEXT: Previous write by cudaMemcpyAsync (device to host) on stream 1
// CHECK-NEXT: main{{.*}}[[COPY]]
// CHECK: Fix: call cudaStreamSynchronize(stream 1)
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "must.h"

int main(int, char** arguments) {
  constexpr size_t kBytes = 1 << 16;
  char *pinned, *device;
  must(cudaMallocHost(&pinned, kBytes));
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  FILE* stdio = std::fopen(arguments[1], "w");
  int file = fileno(stdio);
  must(cudaMemcpyAsync(pinned, device, kBytes, cudaMemcpyDeviceToHost, stream));  // @COPY
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
#if defined(VECTOR)
  iovec part{pinned, kBytes};
  bool whole = writev(file, &part, 1) == kBytes;  // @WRITEV
#elif defined(STDIO)
  bool whole = std::fwrite(pinned, 1, kBytes, stdio) == kBytes;  // @FWRITE
#elif defined(BY_NUMBER)
  bool whole = syscall(SYS_write, file, pinned, kBytes) == kBytes;  // @SYSCALL
#else
  bool whole = write(file, pinned, kBytes) == kBytes;  // @WRITE
#endif
  must(cudaStreamSynchronize(stream));
  if (!whole) return 98;  // EFAULT or a short count has reached the program
}

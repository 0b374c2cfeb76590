// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registered memory is unmapped and never unregistered, and other memory comes to its place. It is none of ours: copies
// from it do not change its protection, and the program's faults in it reach the program.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t > %t.checked
// RUN: %filecheck %s --input-file %t.checked
//
// CHECK: faults 3 of 3
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <cstdio>
#include "must.h"
static sigjmp_buf back;
static volatile int faults;
static void h(int) { ++faults; siglongjmp(back, 1); }
int main() {
  char* device;
  const size_t n = 1 << 16;
  auto* p = static_cast<char*>(mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  must(cudaMalloc(&device, n));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaHostRegister(p, n, 0));
  munmap(p, n);  // without cudaHostUnregister: the driver keeps the pages
  // read-only memory comes to the same place
  auto* q = static_cast<char*>(mmap(p, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  signal(SIGSEGV, h);
  must(cudaMemcpyAsync(device, q, n, cudaMemcpyHostToDevice, stream));
  must(cudaStreamSynchronize(stream));
  if (sigsetjmp(back, 1) == 0) q[0] = 1;
  must(cudaMemcpyAsync(device, q, n, cudaMemcpyHostToDevice, stream));
  if (sigsetjmp(back, 1) == 0) q[1] = 1;
  if (sigsetjmp(back, 1) == 0) q[8192] = 1;
  std::printf("faults %d of 3\n", faults);
}

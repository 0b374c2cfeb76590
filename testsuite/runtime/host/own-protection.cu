// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that protects pages of pinned memory itself finds its own protection, and only its own faults.
//
// RUN: %build %s -o %t
// RUN: %t > %t.plain
// RUN: %run %t > %t.checked 2> %t.err
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
// RUN: %filecheck %s --input-file %t.err --check-prefix=SILENT --allow-empty
//
// CHECK: 2 barriers
// SILENT-NOT: streamsan
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "must.h"

static volatile int barriers;
static char* page;
static void handler(int, siginfo_t* info, void*) {
  if (info->si_addr < page || info->si_addr >= page + 4096) _exit(3);
  ++barriers;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main() {
  char *memory, *device;
  must(cudaMallocHost(&memory, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  page = memory + 65536;
  for (int i = 0; i < 2; ++i) {
    must(cudaMemcpyAsync(memory, device, 1 << 20, cudaMemcpyDeviceToHost, stream));
    must(cudaStreamSynchronize(stream));
    mprotect(page, 4096, PROT_READ);
    page[17] = 1;
    memory[0] = 1;
  }
  std::printf("%d barriers\n", barriers);
  return 0;
}

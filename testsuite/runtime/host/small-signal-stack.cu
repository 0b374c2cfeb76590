// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler of the program's on a stack as small as a signal can have. Touches of lent memory would come to it, too:
// nothing is guarded there, before or after the stack is given. With a stack of the usual size touches are seen.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t 4096 > %t.checked 2> %t.err
// RUN: %filecheck %s --input-file %t.checked
// RUN: %filecheck %s --input-file %t.err --check-prefix=SILENT --allow-empty
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t 8192 > %t.usual 2> %t.usual.err
// RUN: %filecheck %s --input-file %t.usual
// RUN: %filecheck %s --input-file %t.usual.err --check-prefix=TOUCHED
//
// CHECK: alive
// SILENT-NOT: streamsan
// TOUCHED: ERROR: streamsan: {{.*}}host race
#include <signal.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "must.h"

int main(int, char** arguments) {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  struct sigaction action {};
  action.sa_handler = [](int) { std::abort(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  must(cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, stream));
  // Below the stack nothing can be written.
  auto bytes = static_cast<std::size_t>(std::atoi(arguments[1]));
#if defined __aarch64__
  bytes *= 2;  // the kernel's frame is larger there
#endif
  auto* low = static_cast<char*>(mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack_t stack{};
  stack.ss_sp = low + 65536 - bytes;
  stack.ss_size = bytes;
  mprotect(stack.ss_sp, bytes, PROT_READ | PROT_WRITE);
  sigaltstack(&stack, nullptr);
  pinned[0] = 1;
  must(cudaMemcpyAsync(pinned + 8192, device, 4096, cudaMemcpyDeviceToHost, stream));
  pinned[8192] = 1;
  std::printf("alive\n");
  return 0;
}

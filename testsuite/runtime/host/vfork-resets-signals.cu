// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child of vfork() sets all its signals to their defaults before exec, in memory that it shares with us. The parent
// keeps its handler.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=exitcode=0,host_guard_cost=100 %run %t > %t.checked
// RUN: %filecheck %s --input-file %t.checked
//
// CHECK: child 0, handler kept 1
// CHECK-NEXT: alive
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include "must.h"
static sigjmp_buf back;
static void h(int) { siglongjmp(back, 1); }
int main() {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  signal(SIGSEGV, h);
  must(cudaMemcpyAsync(pinned, device, 1 << 20, cudaMemcpyDeviceToHost, stream));
  pid_t child = vfork();
  if (child == 0) {
    for (int i = 1; i < 32; ++i) {
      struct sigaction d{};
      d.sa_handler = SIG_DFL;
      sigaction(i, &d, nullptr);
    }
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  std::printf("child %d, handler kept %d\n", status, now.sa_handler == h);
  fflush(stdout);
  if (sigsetjmp(back, 1) == 0) *reinterpret_cast<volatile int*>(0x10) = 1;
  std::printf("alive\n");
}

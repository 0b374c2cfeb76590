// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run-time system that installs its handler by the system call itself, as Go's does, takes ours away. Before the next
// guard ours is in front of it again, and real faults still reach it.
//
// RUN: %build %s -o %t
// RUN: %t > %t.plain
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t > %t.checked 2> %t.err
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
// RUN: %filecheck %s --input-file %t.err --check-prefix=TOUCHED
//
// CHECK: 3 faults were its own
// TOUCHED: ERROR: streamsan: {{.*}}host race
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "must.h"

static sigjmp_buf back;
static volatile int faults;
static void handler(int, siginfo_t*, void*) {
  ++faults;
  siglongjmp(back, 1);
}
static void fault() {
  if (sigsetjmp(back, 1) == 0) *reinterpret_cast<volatile int*>(0x20) = 1;
}

struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};
static void install_by_system_call() {
  // The restorer is libc's: taken from an action that libc has set.
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &action, nullptr);
  KernelAction kernel;
  syscall(SYS_rt_sigaction, SIGUSR2, nullptr, &kernel, 8);
  syscall(SYS_rt_sigaction, SIGSEGV, &kernel, nullptr, 8);
}

int main() {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  install_by_system_call();
  fault();
  must(cudaMemcpyAsync(pinned, device, 1 << 20, cudaMemcpyDeviceToHost, stream));  // ours is there now
  fault();
  must(cudaStreamSynchronize(stream));
  install_by_system_call();
  must(cudaMemcpyAsync(pinned, device, 1 << 20, cudaMemcpyDeviceToHost, stream));  // and now again
  pinned[0] = 1;
  fault();
  std::printf("%d faults were its own\n", faults);
  return 0;
}

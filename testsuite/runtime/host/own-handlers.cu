// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with SIGSEGV handlers of its own, of every kind, behaves as without us while buffers are guarded: real faults
// reach its handler with the right arguments, mask and stack, it may jump out, and it reads back what it has set. A
// correct touch of a buffer that was guarded never reaches it.
//
// RUN: %build %s -o %t
// RUN: %t > %t.plain
// RUN: %run %t > %t.checked 2> %t.err
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
// RUN: %filecheck %s --input-file %t.err --check-prefix=SILENT --allow-empty
//
// CHECK: siginfo at 0x10 code 1 blocked 1
// CHECK-NEXT: read back: same 1 flags 1
// CHECK-NEXT: plain handler, blocked 1
// CHECK-NEXT: nodefer, blocked 0
// CHECK-NEXT: extra mask: usr1 1
// CHECK-NEXT: on its own stack 1
// CHECK-NEXT: once: default again 1
// CHECK-NEXT: signal() answers: first 1 second 1
// CHECK-NEXT: sent by kill: code 0
// CHECK-NEXT: access error in own pages: code 2
// CHECK-NEXT: no handler left: 0
// SILENT-NOT: streamsan
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "must.h"

static sigjmp_buf back;
static volatile int code, blocked, usr1, own_stack, plain_calls;
static void* volatile fault_address;
static char* alternate;

static void look_at_mask() {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  blocked = sigismember(&mask, SIGSEGV);
  usr1 = sigismember(&mask, SIGUSR1);
}
static void detailed(int, siginfo_t* info, void*) {
  look_at_mask();
  code = info->si_code;
  fault_address = info->si_addr;
  char here;
  own_stack = &here >= alternate && &here < alternate + 65536;
  siglongjmp(back, 1);
}
static void plain(int) {
  look_at_mask();
  ++plain_calls;
  siglongjmp(back, 1);
}
static void returning(int, siginfo_t* info, void*) { code = info->si_code; }

static void fault_at(volatile int* where) {
  if (sigsetjmp(back, 1) == 0) *where = 1;
}
static struct sigaction action_of(void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  return action;
}

static char* pinned;
static char* device;
static cudaStream_t stream;
/// Leaves a guarded buffer behind: every real fault comes while guards are up.
static void submit() { must(cudaMemcpyAsync(pinned, device, 1 << 20, cudaMemcpyDeviceToHost, stream)); }
static int correct_touch() {
  must(cudaStreamSynchronize(stream));
  return pinned[0] + pinned[(1 << 20) - 1];
}

int main() {
  alternate = static_cast<char*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  must(cudaStreamCreate(&stream));
  auto* nowhere = reinterpret_cast<volatile int*>(0x10);

  struct sigaction action = action_of(detailed, 0), old {};
  sigaction(SIGSEGV, &action, nullptr);
  submit();  // guards come after the program's handler
  fault_at(nowhere);
  std::printf("siginfo at %p code %d blocked %d\n", fault_address, code, blocked);
  sigaction(SIGSEGV, nullptr, &old);
  std::printf("read back: same %d flags %d\n", old.sa_sigaction == detailed,
              (old.sa_flags & ~0x04000000) == SA_SIGINFO);  // libc adds SA_RESTORER
  correct_touch();

  submit();
  struct sigaction simple {};
  simple.sa_handler = plain;
  sigaction(SIGSEGV, &simple, nullptr);
  fault_at(nowhere);
  std::printf("plain handler, blocked %d\n", blocked);
  submit();
  action = action_of(detailed, SA_NODEFER);
  sigaction(SIGSEGV, &action, nullptr);
  fault_at(nowhere);
  std::printf("nodefer, blocked %d\n", blocked);
  submit();
  action = action_of(detailed, 0);
  sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(SIGSEGV, &action, nullptr);
  fault_at(nowhere);
  std::printf("extra mask: usr1 %d\n", usr1);
  correct_touch();

  stack_t stack{};
  stack.ss_sp = alternate;
  stack.ss_size = 65536;
  sigaltstack(&stack, nullptr);
  submit();
  action = action_of(detailed, SA_ONSTACK);
  sigaction(SIGSEGV, &action, nullptr);
  fault_at(nowhere);
  std::printf("on its own stack %d\n", own_stack);
  submit();
  action = action_of(detailed, SA_RESETHAND);
  sigaction(SIGSEGV, &action, nullptr);
  fault_at(nowhere);
  sigaction(SIGSEGV, nullptr, &old);
  std::printf("once: default again %d\n", old.sa_handler == SIG_DFL);
  submit();
  bool first = signal(SIGSEGV, plain) == SIG_DFL;
  bool second = signal(SIGSEGV, plain) == plain;
  std::printf("signal() answers: first %d second %d\n", first, second);
  fault_at(nowhere);
  action = action_of(returning, 0);
  sigaction(SIGSEGV, &action, nullptr);
  submit();
  kill(getpid(), SIGSEGV);
  std::printf("sent by kill: code %d\n", code);
  // A guard of its own, in memory that is none of CUDA's.
  action = action_of(detailed, 0);
  sigaction(SIGSEGV, &action, nullptr);
  auto* own = static_cast<int*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  submit();
  fault_at(own);
  std::printf("access error in own pages: code %d\n", code);
  signal(SIGSEGV, SIG_DFL);
  submit();
  std::printf("no handler left: %d\n", correct_touch());
  return 0;
}

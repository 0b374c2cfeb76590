// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with a SIGSEGV handler of its own, on an alternate stack, as runtimes of languages and crash reporters
// have: it provokes faults while copies are in flight and gets over them by siglongjmp. It must see exactly its own
// faults, at their addresses and with their codes. Racy: it also reads what a copy is bringing; its handler must not
// hear of that.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdint>

#include "stage.h"

namespace {

constexpr int kRounds = 50;
constexpr int kWords = 1 << 20;
constexpr int kByte = 3;
constexpr int kWord = 0x03030303;

sigjmp_buf g_recover;
volatile sig_atomic_t g_faults = 0;
volatile uintptr_t g_address = 0;
volatile int g_code = 0;
char g_stack[1 << 16];
volatile sig_atomic_t g_on_own_stack = 0;

void on_fault(int, siginfo_t* info, void*) {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  g_on_own_stack = here >= g_stack && here < g_stack + sizeof g_stack;
  g_address = reinterpret_cast<uintptr_t>(info->si_addr);
  g_code = info->si_code;
  g_faults = g_faults + 1;
  siglongjmp(g_recover, 1);
}

bool survives_write(volatile char* address, int code) {
  const int before = g_faults;
  if (sigsetjmp(g_recover, 1) == 0) {
    *address = 1;
    return false;
  }
  return g_faults == before + 1 && g_address == reinterpret_cast<uintptr_t>(address) && g_code == code &&
         g_on_own_stack;
}

}  // namespace

int main() {
  stack_t stack = {};
  stack.ss_sp = g_stack;
  stack.ss_size = sizeof g_stack;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGSEGV, &action, nullptr) != 0) return 2;
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return 2;
  if (now.sa_sigaction != on_fault || (now.sa_flags & (SA_SIGINFO | SA_ONSTACK)) != (SA_SIGINFO | SA_ONSTACK)) return 4;

  cudaStream_t stream = non_blocking_stream();
  int* data = device_memory<int>(kWords);
  int* host = pinned_memory<int>(kWords);
  void* sealed = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sealed == MAP_FAILED) return 2;
  CHECK(cudaMemsetAsync(data, kByte, kWords * sizeof(int), stream));

  long right = 0;
  for (int round = 0; round < kRounds; ++round) {
    CHECK(cudaMemcpyAsync(host, data, kWords * sizeof(int), cudaMemcpyDeviceToHost, stream));  // site: copy
#ifndef FIXED
    const volatile int* early = host;
    (void)early[kWords - 1];  // site: read
#endif
    if (!survives_write(static_cast<char*>(sealed) + 8 * round, SEGV_ACCERR)) return 5;
    if (!survives_write(reinterpret_cast<char*>(16), SEGV_MAPERR)) return 6;
    CHECK(cudaStreamSynchronize(stream));
    right += host[0] == kWord && host[kWords - 1] == kWord;
  }
  std::printf("%d faults, %ld rounds are right\n", static_cast<int>(g_faults), right);
  return g_faults == 2 * kRounds && right == kRounds ? 0 : 3;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that crashes while buffers are guarded ends as without us, whether it faults, is sent the signal, ignores
// it, or has a handler for the overflow of its stack.
//
// RUN: %build %s -o %t
// RUN: %python %S/../inputs/status.py %t fault sent ignored-fault ignored-sent overflow > %t.plain
// RUN: rm -rf %t.traces && mkdir %t.traces
// RUN: env STREAMSAN_OPTIONS=trace_path=%t.traces/%%p %python %S/../inputs/status.py --preload %preload %t fault sent ignored-fault ignored-sent overflow > %t.checked
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
//
// CHECK: fault: SIGSEGV
// CHECK-NEXT: sent: SIGSEGV
// CHECK-NEXT: ignored-fault: SIGSEGV
// CHECK-NEXT: ignored-sent: 7
// CHECK-NEXT: overflow: 8
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "must.h"

static int grow(volatile char* outer) {
  volatile char frame[4096];
  frame[0] = outer ? outer[0] : 0;
  return grow(frame) + frame[1];
}

int main(int, char** argv) {
  rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  const char* how = argv[1];
  if (std::strncmp(how, "ignored", 7) == 0) signal(SIGSEGV, SIG_IGN);
  if (std::strcmp(how, "overflow") == 0) {
    stack_t stack{};
    stack.ss_size = 65536;
    stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(8); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
  }
  must(cudaMemcpyAsync(pinned, device, 1 << 20, cudaMemcpyDeviceToHost, stream));
  if (std::strstr(how, "fault")) *reinterpret_cast<volatile int*>(0x20) = 1;
  if (std::strstr(how, "sent")) kill(getpid(), SIGSEGV);
  if (std::strcmp(how, "overflow") == 0) return grow(nullptr);
  return 7;
}

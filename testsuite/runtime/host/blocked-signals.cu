// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that block every signal, before and after there are guards, touch guarded buffers and live; and what they
// read of their masks is what they have set. A handler that blocks everything while it runs may touch one, too.
//
// RUN: %build %s -o %t
// RUN: %t > %t.plain
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t > %t.checked 2> %t.err
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
// RUN: %filecheck %s --input-file %t.err --check-prefix=TOUCHED
//
// CHECK: main: blocked 1, then 0, then 1
// CHECK-NEXT: threads: 8
// CHECK-NEXT: handler: 1
// TOUCHED: ERROR: streamsan: {{.*}}host race
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "must.h"

static int is_blocked() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, SIGSEGV);
}

static char *pinned, *device;
static cudaStream_t stream;
static void submit(int part) {
  must(cudaMemcpyAsync(pinned + part * 65536, device, 65536, cudaMemcpyDeviceToHost, stream));
}
static volatile int touched;

int main() {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  int first = is_blocked();
  sigset_t fault;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  sigprocmask(SIG_UNBLOCK, &fault, &old);
  int second = is_blocked();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  std::printf("main: blocked %d, then %d, then %d\n", first, second, is_blocked());
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  must(cudaStreamCreate(&stream));
  for (int i = 0; i < 8; ++i) submit(i);
  std::atomic<int> alive{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      if (i % 2) pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the others inherit it
      pinned[i * 65536] = 1;
      ++alive;
    });
  }
  for (auto& thread : threads) thread.join();
  std::printf("threads: %d\n", alive.load());
  struct sigaction action {};
  action.sa_handler = [](int) { touched = ++pinned[9 * 65536]; };
  sigfillset(&action.sa_mask);
  sigaction(SIGUSR1, &action, nullptr);
  sigemptyset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  submit(9);
  raise(SIGUSR1);
  std::printf("handler: %d\n", touched);
  return 0;
}

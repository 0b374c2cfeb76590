// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways to block SIGSEGV that are no sigprocmask(): the mask of a function that waits, in which its handlers run; of
// a thread's attributes; what exec inherits; a handler for SIGSEGV that jumps out and leaves it blocked. A guarded
// buffer may be touched in all of them.
//
// RUN: %build %s -o %t
// RUN: %t > %t.plain
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %run %t > %t.checked 2> %t.err
// RUN: diff %t.plain %t.checked
// RUN: %filecheck %s --input-file %t.checked
// RUN: %t exec %run %t > %t.exec 2> %t.exec.err || true
// RUN: diff %t.plain %t.exec
// RUN: %filecheck %s --input-file %t.err --check-prefix=TOUCHED
//
// CHECK: ppoll 1
// CHECK-NEXT: pselect 2
// CHECK-NEXT: sigsuspend 3
// CHECK-NEXT: epoll_pwait 4
// CHECK-NEXT: attributes 5
// CHECK-NEXT: jumped out 6
// TOUCHED: ERROR: streamsan: {{.*}}host race
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <cstdio>

#include "must.h"

static char *pinned, *device;
static cudaStream_t stream;
static volatile int part, touched;
static jmp_buf back;

static void touch(int) {
  pinned[part * 65536] = 1;
  ++touched;
}
static void jump(int) { _longjmp(back, 1); }
static void submit() {
  ++part;
  must(cudaMemcpyAsync(pinned + part * 65536, device, 65536, cudaMemcpyDeviceToHost, stream));
}

int main(int count, char** arguments) {
  sigset_t mask, usr;
  if (count > 1) {
    sigfillset(&mask);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(arguments[2], arguments + 2);
    return 1;
  }
  must(cudaMallocHost(&pinned, 1 << 20));
  must(cudaMalloc(&device, 1 << 20));
  must(cudaStreamCreate(&stream));
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr, nullptr);
  sigfillset(&mask);
  sigdelset(&mask, SIGUSR1);
  signal(SIGUSR1, touch);
  submit();
  raise(SIGUSR1);
  ppoll(nullptr, 0, nullptr, &mask);
  std::printf("ppoll %d\n", touched);
  submit();
  raise(SIGUSR1);
  pselect(0, nullptr, nullptr, nullptr, nullptr, &mask);
  std::printf("pselect %d\n", touched);
  submit();
  raise(SIGUSR1);
  sigsuspend(&mask);
  std::printf("sigsuspend %d\n", touched);
  submit();
  raise(SIGUSR1);
  epoll_event event;
  epoll_pwait(epoll_create1(0), &event, 1, -1, &mask);
  std::printf("epoll_pwait %d\n", touched);
  submit();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &mask);
  pthread_t thread;
  auto run = [](void*) -> void* {
    touch(0);
    return nullptr;
  };
  pthread_create(&thread, &attributes, run, nullptr);
  pthread_join(thread, nullptr);
  std::printf("attributes %d\n", touched);
  signal(SIGSEGV, jump);
  if (_setjmp(back) == 0) *reinterpret_cast<volatile int*>(0x10) = 1;
  submit();
  touch(0);
  std::printf("jumped out %d\n", touched);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the host threads of a race were created, by each way that a program has: pthread_create (alone), C11's
// thrd_create, std::async, std::jthread; in a loop, which is one place; by a thread that was itself created, and has a number for that; by the first
// thread, which nobody created. Of threads that are older than the driver's start (-DEARLY) nothing is said, nor of
// those of a forked child's parent (-DFORKED says where the child's own are from).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report --check-prefixes=CHECK,POSIX
// RUN: %build -DC11 %s -o %t.c11
// RUN: %racy %t.c11 2>&1 | %report --check-prefixes=CHECK,C11
// RUN: %build -DASYNC %s -o %t.async
// RUN: %racy %t.async 2>&1 | %report --check-prefixes=CHECK,ASYNC
// RUN: %build -std=c++20 -DJTHREAD %s -o %t.jthread
// RUN: %racy %t.jthread 2>&1 | %report --check-prefixes=CHECK,JTHREAD
// RUN: %build -DIN_A_LOOP %s -o %t.loop
// RUN: %racy %t.loop 2>&1 | %report --check-prefix=LOOP
// RUN: %build -DNESTED %s -o %t.nested
// RUN: %racy %t.nested 2>&1 | %report --check-prefix=NESTED
// RUN: %build -DEARLY %s -o %t.early
// RUN: %racy %t.early 2>&1 | %report --check-prefix=EARLY
// RUN: %build -DFORKED %s -o %t.forked
// RUN: %racy %t.forked 2>&1 | %report --check-prefixes=CHECK,POSIX
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by {{.*}}, host thread 2{{$}}
// CHECK: Previous write by {{.*}}, host thread 1 (main){{$}}
// POSIX: {{^}}    host thread 2 created by pthread_create{{$}}
// POSIX-NEXT: #0 {{.*}}start({{.*}}[[POSIX]]
// C11: {{^}}    host thread 2 created by thrd_create{{$}}
// C11-NEXT: #0 {{.*}}start({{.*}}[[C11]]
// ASYNC: {{^}}    host thread 2 created by std::async{{$}}
// ASYNC-NEXT: #0 {{.*}}start({{.*}}[[ASYNC]]
// JTHREAD: {{^}}    host thread 2 created by std::jthread{{$}}
// JTHREAD-NEXT: #0 {{.*}}start({{.*}}[[JTHREAD]]
// CHECK-NEXT: #1 main
// CHECK-NOT: created by
// CHECK: SUMMARY
// LOOP: {{^}}    host thread 2 and host thread 3 created by pthread_create{{$}}
// LOOP-NEXT: #0 {{.*}}start({{.*}}[[POSIX]]
// LOOP-NEXT: #1 main{{.*}}[[EACH]]
// LOOP-NEXT: Fix:
// NESTED: {{^}}    host thread 3 created by pthread_create{{$}}
// NESTED-NEXT: #0 {{.*}}start({{.*}}[[POSIX]]
// NESTED-NEXT: #1 {{.*}}[[INNER]]
// EARLY: ERROR: streamsan: write-after-write
// EARLY: , host thread 2{{$}}
// EARLY: , host thread 1{{$}}
// EARLY-NOT: created by {{pthread|std}}
// EARLY: SUMMARY
#include <pthread.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <thread>

#include "must.h"

namespace {

char* buffer;
cudaStream_t streams[2];
using Work = std::function<void()>;

[[maybe_unused]] void* run_posix(void* work) { return (*static_cast<Work*>(work))(), nullptr; }
[[maybe_unused]] int run_c11(void* work) { return (*static_cast<Work*>(work))(), 0; }

/// In a thread of its own, to the end.
[[gnu::noinline]] void start(Work work) {
#if defined C11
  thrd_t thread;
  if (thrd_create(&thread, run_c11, &work) != thrd_success) std::abort();  // @C11
  thrd_join(thread, nullptr);
#elif defined ASYNC
  std::async(std::launch::async, work).get();  // @ASYNC
#elif defined JTHREAD
  std::jthread thread(work);  // @JTHREAD
#else
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run_posix, &work) != 0) std::abort();  // @POSIX
  pthread_join(thread, nullptr);
#endif
}

void set_up() {
  must(cudaMalloc(&buffer, 4096));
  must(cudaStreamCreate(&streams[0]));
  must(cudaStreamCreate(&streams[1]));
}

void fill(int i) {
  must(cudaMemsetAsync(buffer, i, 4096, streams[i]));
#ifdef FIXED
  must(cudaStreamSynchronize(streams[i]));
#endif
}

}  // namespace

int main() {
#if defined EARLY
  pthread_barrier_t turn;
  pthread_barrier_init(&turn, nullptr, 2);
  std::thread first([&] {
    set_up();
    fill(0);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
  });
  std::thread second([&] {
    pthread_barrier_wait(&turn);
    fill(1);
    pthread_barrier_wait(&turn);
  });
  first.join();
  second.join();
#elif defined IN_A_LOOP
  set_up();
  for (int i = 0; i < 2; ++i) {
    start([i] { fill(i); });  // @EACH
  }
#elif defined NESTED
  set_up();
  fill(0);
  start([] {
    start([] { fill(1); });  // @INNER
  });
#else
#if defined FORKED
  start([] {});
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
#endif
  set_up();
  fill(0);
  start([] { fill(1); });
#endif
}

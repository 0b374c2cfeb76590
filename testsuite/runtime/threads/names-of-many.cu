// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// More threads at a time than the recorder keeps an eye on: each still has the name that it had at its first call. When
// they have ended there is room again: one that gets its name after its last call has it, too. A pool's thread has one
// record, however often it is used.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=host_threads=joined %racy %t 2>&1 | %report
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %trace_counts %t.trace kinds | %filecheck %s --check-prefix=RECORDS
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: Write by {{.*}}, host thread 602 "late"{{$}}
// CHECK: Previous write by {{.*}}, host thread 601 "worker 599"{{$}}
// CHECK: {{^}}    host thread 601 "worker 599" created by pthread_create{{$}}
// CHECK-NEXT: main{{.*}}[[WORKERS]]
// CHECK: {{^}}    host thread 602 "late" created by pthread_create{{$}}
// CHECK-NEXT: main{{.*}}[[LATE]]
// The first thread's, 600 workers', and the late one's two.
// RECORDS: HostThread 603
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "must.h"

namespace {

constexpr int kWorkers = 600;

char* buffer;
char* others;
cudaStream_t streams[2];
pthread_barrier_t meeting;

void* work(void* place) {
  const auto i = static_cast<int>(reinterpret_cast<std::size_t>(place));
  char name[16];
  std::snprintf(name, sizeof name, "worker %d", i);
  if (pthread_setname_np(pthread_self(), name) != 0) std::abort();
  // In order of their numbers.
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
  static int turn = 0;
  pthread_mutex_lock(&lock);
  while (turn != i) pthread_cond_wait(&next, &lock);
  for (int again = 0; again < 3; ++again) {
    must(cudaMemsetAsync(i + 1 == kWorkers ? buffer : others, 1, 64, streams[0]));
  }
  ++turn;
  pthread_cond_broadcast(&next);
  pthread_mutex_unlock(&lock);
  pthread_barrier_wait(&meeting);
  return nullptr;
}

void* write_late(void*) {
  must(cudaMemsetAsync(buffer, 2, 64, streams[1]));
  if (pthread_setname_np(pthread_self(), "late") != 0) std::abort();
  return nullptr;
}

}  // namespace

int main() {
  must(cudaMalloc(&buffer, 64));
  must(cudaMalloc(&others, 64));
  must(cudaStreamCreate(&streams[0]));
  must(cudaStreamCreate(&streams[1]));
  pthread_barrier_init(&meeting, nullptr, kWorkers);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  static pthread_t threads[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    void* place = reinterpret_cast<void*>(static_cast<std::size_t>(i));
    if (pthread_create(&threads[i], &small, work, place) != 0) std::abort();  // @WORKERS
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
#ifdef FIXED
  must(cudaStreamSynchronize(streams[0]));
#endif
  pthread_t late;
  if (pthread_create(&late, nullptr, write_late, nullptr) != 0) std::abort();  // @LATE
  pthread_join(late, nullptr);
}

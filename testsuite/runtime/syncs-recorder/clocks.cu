// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which readings of a clock are recorded (option syncs): the first after a call that has waited, with no work
// submitted in between, by whatever function of libc. And the time between two events is always recorded.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.*.trace
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.on.trace LD_PRELOAD=%preload %t
// RUN: %trace_records %t.on.trace SyncStream ClockRead EventTime > %t.on
// RUN: %filecheck %s --input-file %t.on
// RUN: env STREAMSAN_OPTIONS=syncs=0,footprints=inferred,trace_path=%t.off.trace LD_PRELOAD=%preload %t
// RUN: %trace_records %t.off.trace ClockRead EventTime > %t.off
// RUN: %filecheck %s --input-file %t.off --check-prefix=OFF
//
// CHECK: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'clock_gettime'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'gettimeofday'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'time'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'clock'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'timespec_get'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'clock_gettime'
// CHECK-NEXT: SyncStream
// CHECK-NEXT: SyncStream
// CHECK-NEXT: ClockRead flags=0 stack {{.*}} 'clock_gettime'
// CHECK-NEXT: EventTime flags=0 stack
// CHECK-NOT: ClockRead
// CHECK-NOT: EventTime
//
// OFF-NOT: ClockRead
// OFF: EventTime
// OFF-NOT: ClockRead
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <chrono>
#include <thread>

#include "must.h"

static void in_handler(int) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
}

int main() {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  void* memory;
  must(cudaMalloc(&memory, 4));
  cudaEvent_t first, second;
  must(cudaEventCreate(&first));
  must(cudaEventCreate(&second));
  must(cudaEventRecord(first, stream));
  must(cudaEventRecord(second, stream));
  std::chrono::steady_clock::now();  // nobody has waited yet
  must(cudaStreamSynchronize(stream));
  std::chrono::steady_clock::now();
  std::chrono::steady_clock::now();  // the second is not recorded
  must(cudaStreamSynchronize(stream));
  timeval day;
  gettimeofday(&day, nullptr);
  must(cudaStreamSynchronize(stream));
  time(nullptr);
  must(cudaStreamSynchronize(stream));
  clock();
  must(cudaStreamSynchronize(stream));
  timespec now;
  timespec_get(&now, TIME_UTC);
  // A call in between that submits no work; one that does; another thread, which has not waited.
  must(cudaStreamSynchronize(stream));
  must(cudaEventRecord(first, stream));
  std::chrono::steady_clock::now();
  must(cudaStreamSynchronize(stream));
  must(cudaMemsetAsync(memory, 0, 4, stream));
  std::chrono::steady_clock::now();
  signal(SIGUSR1, in_handler);
  must(cudaStreamSynchronize(stream));
  std::thread([] { std::chrono::steady_clock::now(); }).join();
  raise(SIGUSR1);
  float milliseconds;
  must(cudaEventElapsedTime(&milliseconds, first, second));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads submit to a stream each: each operation has the times of its own call. What one thread's wait costs is
// counted of that thread's work: the GPU is not idle as long as the other's runs.
//
// RUN: %build %s -o %t
// RUN: %timed STREAMSAN_NULL_GPU_US=100 %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s
// RUN: %build -DBESIDE %s -o %t.beside
// RUN: %timed STREAMSAN_NULL_GPU_US=200000 %expect 0 %run %t.beside 2>&1 | %filecheck %s --check-prefix=BESIDE
// REQUIRES: nulldriver
//
// CHECK: timings: 400 calls, 400 times, 0 of other calls, 0 records without times, 0 dropped
// CHECK-NOT: times of
// CHECK: in 5 blocking calls; because of it
// BESIDE: in 3 blocking calls; because of it the GPU idled for up to {{[0-9][0-9]?\.[0-9]+}} ms,
#include <unistd.h>

#include <thread>

#include "syncs.h"

void submit(int count) {
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < count; ++i) run_set(stream, a, 1);
    must(cudaStreamSynchronize(stream));
  }
}

int main() {
  must(cudaFree(nullptr));
#ifdef BESIDE
  // 200 ms of one thread, a wait, 10 ms of pause; but before that is over the other thread's three are under way.
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream(), other = non_blocking_stream();
  std::thread busy([&] {
    usleep(5000);
    for (int i = 0; i < 3; ++i) run_set(other, b, 1);
  });
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));
  busy.join();
  usleep(10000);
  run_set(stream, a, 2);
  must(cudaDeviceSynchronize());
#else
  std::thread one(submit, 100), two(submit, 100);
  one.join();
  two.join();
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process forks while another thread submits work. The children, in which neither CUDA nor CUPTI works, exit as ever;
// the parent's times are all there.
//
// RUN: %build %s -o %t
// RUN: %timed STREAMSAN_NULL_GPU_US=10 %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s
// REQUIRES: nulldriver
//
// CHECK: timings: [[CALLS:[0-9]+]] calls, [[CALLS]] times, 0 of other calls, 0 records without times, 0 dropped
// CHECK-NOT: times of
// CHECK: because of it the GPU idled
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "syncs.h"

int main() {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    float* a = device_floats();
    cudaStream_t stream = non_blocking_stream();
    while (!stop) {
      run_set(stream, a, 1);
      must(cudaStreamSynchronize(stream));
    }
  });
  for (int i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      if (i % 2) std::exit(9);
      _exit(9);
    }
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 9) return 98;
  }
  stop = true;
  worker.join();
}

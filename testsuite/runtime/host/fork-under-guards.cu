// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process is forked while another thread protects and frees pages. No page stays protected in the child, whose touch
// is its own.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=exitcode=0,host_guard_cost=100 %run %t > %t.checked
// RUN: %filecheck %s --input-file %t.checked
//
// CHECK: 0 died
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <thread>
#include "must.h"
int main() {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 16));
  must(cudaMalloc(&device, 1 << 16));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  std::atomic<bool> end{false};
  std::thread t([&] {
    while (!end) {
      must(cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDeviceToHost, stream));
      must(cudaStreamSynchronize(stream));
    }
  });
  int died = 0, n = 500;
  for (int i = 0; i < n; ++i) {
    pid_t p = fork();
    if (p == 0) {
      pinned[0] = 1;
      _exit(0);
    }
    int s;
    waitpid(p, &s, 0);
    if (s) ++died;
  }
  end = true;
  t.join();
  std::printf("%d died\n", died);
}

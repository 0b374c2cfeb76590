// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A time-out by SIGALRM and siglongjmp leaves a blocking call for good. What the thread does afterwards is recorded.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: env STREAMSAN_NULL_LATENCY_US=3000000 LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %trace_counts %t.trace | %filecheck %s
//
// CHECK-DAG: cuMemsetD8Async 1000
#include <csetjmp>
#include <csignal>
#include <sys/time.h>
#include <unistd.h>

#include "must.h"

static sigjmp_buf back;

int main() {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  std::signal(SIGALRM, [](int) { siglongjmp(back, 1); });
  itimerval soon{{0, 0}, {0, 50000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  if (!sigsetjmp(back, 1)) {
    cudaStreamSynchronize(stream);
    return 98;  // nothing was interrupted
  }
  for (int i = 0; i < 1000; ++i) must(cudaMemsetAsync(buffer, 0, 4096, stream));
  _exit(0);
}

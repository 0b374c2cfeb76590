// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profiler's timer interrupts the program a thousand times a second, also inside our wrappers and while the trace
// grows: nothing is lost, nothing fails with EINTR, and the handler runs as often as it is asked to.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %trace_counts %t.trace | %filecheck %s
//
// CHECK-DAG: cuEventRecord 60000
// CHECK-DAG: cuStreamWaitEvent 60000
#include <signal.h>
#include <sys/time.h>

#include "must.h"

static volatile sig_atomic_t interruptions;

int main() {
  struct sigaction action {};
  action.sa_handler = [](int) { interruptions = interruptions + 1; };
  sigaction(SIGPROF, &action, nullptr);  // without SA_RESTART
  cudaStream_t first, second;
  must(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t event;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &often, nullptr);
  for (int i = 0; i < 60000; ++i) {
    must(cudaEventRecord(event, first));
    must(cudaStreamWaitEvent(second, event, 0));
  }
  // Without one interruption the test has shown nothing.
  while (interruptions == 0) {
  }
  return 0;
}

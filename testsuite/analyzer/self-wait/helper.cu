// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check self-wait %s
// RUN: %check self-wait %s -- -DFIXED
//
// The helper is right for two streams; this caller gives it one stream twice.
#include <cuda_runtime.h>

static void order(cudaStream_t before, cudaStream_t after, cudaEvent_t e) {
  cudaEventRecord(e, before);
  cudaStreamWaitEvent(after, e, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'compute' waits for event 'e', which it recorded itself: the wait does nothing [streamsan-self-wait]
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'e' is recorded here on stream 'compute'
// CHECK-NOTES: :[[@LINE+13]]:3: note: in the call to 'order' here
}

void run(float* x) {
  cudaStream_t compute, io;
  cudaEvent_t e;
  cudaStreamCreate(&compute);
  cudaStreamCreate(&io);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaMemsetAsync(x, 0, 1024, compute);
#ifdef FIXED
  order(compute, io, e);
#else
  order(compute, compute, e);
#endif
  cudaMemsetAsync(x, 1, 1024, io);
  cudaStreamSynchronize(io);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DKEPT
//
// A stream of the function alone is destroyed at its end, which waits for nothing: nobody can wait for its work then.
#if defined(FIXED) && !defined(KEPT)
#define ALONE
#endif
#include <cuda_runtime.h>

__global__ void etch(float* plate) { plate[threadIdx.x] *= 2.0f; }

cudaStream_t last;

void press(float* plate, cudaStream_t s) {
  cudaStream_t side;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  cudaEventRecord(ready, s);
  cudaStreamWaitEvent(side, ready, 0);
  etch<<<1, 32, 0, side>>>(plate);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'etch' on stream 'side' may still write 'plate' when 'press' has returned: nothing lets stream 's' wait for it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: stream 'side' waits here for stream 's': the way there is there
// CHECK-NOTES: :[[@LINE-10]]:6: note: work that is enqueued on stream 's' after this function does not wait
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: record an event in stream 'side' after kernel 'etch' and let stream 's' wait for it with cudaStreamWaitEvent before 'press' returns
#ifdef ALONE
  cudaEventRecord(ready, side);
  cudaStreamWaitEvent(s, ready, 0);
#endif
  cudaEventDestroy(ready);
#ifdef KEPT
  last = side;
#else
  cudaStreamDestroy(side);
#endif
}

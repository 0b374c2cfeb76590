// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// cudaEventSynchronize on an event that was never recorded returns at once.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* data, cudaStream_t stream) {
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  produce<<<1, 256, 0, stream>>>(data);
#ifdef FIXED
  cudaEventRecord(done, stream);
#endif
  cudaEventSynchronize(done);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventSynchronize waits for nothing: event 'done' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'done' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: record event 'done' with cudaEventRecord before the wait
  cudaEventDestroy(done);
}

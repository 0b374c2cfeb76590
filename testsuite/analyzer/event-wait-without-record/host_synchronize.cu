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
  cudaEventSynchronize(done);  // FIRES: event-wait-without-record
  cudaEventDestroy(done);
}

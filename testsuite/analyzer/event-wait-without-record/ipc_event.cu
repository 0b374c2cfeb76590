// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record,event-never-waited %s
//
// An event whose handle was given to another process may be recorded, and waited for, there.
#include <cuda_runtime.h>

__global__ void produce(float* slot, int step) { slot[threadIdx.x] = step; }

void sender(float* slot, int steps, cudaIpcEventHandle_t* mail) {
  cudaStream_t stream;
  cudaEvent_t empty;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&empty, cudaEventDisableTiming | cudaEventInterprocess);
  cudaIpcGetEventHandle(mail, empty);
  for (int step = 0; step < steps; ++step) {
    if (step > 0) cudaStreamWaitEvent(stream, empty, 0);
    produce<<<1, 32, 0, stream>>>(slot, step);
  }
  cudaStreamSynchronize(stream);
  cudaEventDestroy(empty);
  cudaStreamDestroy(stream);
}

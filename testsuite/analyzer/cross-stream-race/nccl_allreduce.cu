// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Gradients are reduced on the communication stream before the backward kernel is done.
#include <cuda_runtime.h>
#include <nccl.h>

__global__ void backward(const float* activations, float* gradients) {
  gradients[threadIdx.x] = activations[threadIdx.x];
}

void step(ncclComm_t communicator, const float* activations, float* gradients, size_t count) {
  cudaStream_t compute, comm;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&comm, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  backward<<<4, 256, 0, compute>>>(activations, gradients);
#ifdef FIXED
  cudaEventRecord(ready, compute);
  cudaStreamWaitEvent(comm, ready, 0);
#endif
  ncclAllReduce(gradients, gradients, count, ncclFloat, ncclSum, communicator, comm);  // FIRES: cross-stream-race
  cudaStreamSynchronize(comm);
  cudaStreamSynchronize(compute);
}

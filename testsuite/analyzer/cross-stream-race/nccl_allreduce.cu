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
  ncclAllReduce(gradients, gradients, count, ncclFloat, ncclSum, communicator, comm);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: ncclAllReduce on stream 'comm' may read 'gradients' while kernel 'backward' on stream 'compute' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'gradients' is written here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'comm' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'comm' after stream 'compute': record an event in stream 'compute' after the write and let stream 'comm' wait for it with cudaStreamWaitEvent before ncclAllReduce
  cudaStreamSynchronize(comm);
  cudaStreamSynchronize(compute);
}

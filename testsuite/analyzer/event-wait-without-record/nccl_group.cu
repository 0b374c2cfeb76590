// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The record stands inside of the group, before anything of the group is enqueued.
#include <cuda_runtime.h>
#include <nccl.h>

__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void receive(ncclComm_t communicator, float* received, float* out, size_t count) {
  cudaStream_t compute, comm;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&comm, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  ncclGroupStart();
  ncclRecv(received, count, ncclFloat, 1, communicator, comm);
#ifndef FIXED
  cudaEventRecord(ready, comm);
#endif
  ncclGroupEnd();
#ifdef FIXED
  cudaEventRecord(ready, comm);
#endif
  cudaStreamWaitEvent(compute, ready, 0);
  use<<<4, 256, 0, compute>>>(received, out);  // FIRES: event-wait-without-record
  cudaDeviceSynchronize();
}

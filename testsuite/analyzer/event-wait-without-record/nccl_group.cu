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
  use<<<4, 256, 0, compute>>>(received, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'use' on stream 'compute' may read 'received' while ncclRecv on stream 'comm' still writes it: event 'ready', which it waits for, was recorded before that [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'received' is written here, on stream 'comm'
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'ready' is recorded here, before the write: a wait for it does not cover the write
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'comm' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: record event 'ready' in stream 'comm' after the write, before stream 'compute' waits for it
  cudaDeviceSynchronize();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Calls of a group are enqueued when the group ends: a wait between them and the end comes first, and an event recorded
// there does not cover them.
#include <cuda_runtime.h>
#include <nccl.h>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

struct Lanes {
  Lanes() {
    cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&comm, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  }
  cudaStream_t compute, comm;
  cudaEvent_t ready;
};

void wait_inside_of_the_group(ncclComm_t communicator, int ranks, float* data, float* received, size_t count) {
  Lanes lanes;
  fill<<<4, 256, 0, lanes.compute>>>(data);
  cudaEventRecord(lanes.ready, lanes.compute);
  ncclGroupStart();
  for (int rank = 0; rank < ranks; ++rank) {
    ncclSend(data, count, ncclFloat, rank, communicator, lanes.comm);
    ncclRecv(received + rank * count, count, ncclFloat, rank, communicator, lanes.comm);
  }
  cudaStreamWaitEvent(lanes.comm, lanes.ready, 0);
  ncclGroupEnd();
  cudaStreamSynchronize(lanes.comm);
}

void no_wait(ncclComm_t communicator, float* data, float* received, size_t count) {
  Lanes lanes;
  fill<<<4, 256, 0, lanes.compute>>>(data);
  cudaEventRecord(lanes.ready, lanes.compute);
#ifdef FIXED
  cudaStreamWaitEvent(lanes.comm, lanes.ready, 0);
#endif
  ncclGroupStart();
  ncclSend(data, count, ncclFloat, 1, communicator, lanes.comm);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: ncclSend on stream 'lanes.comm' may read 'data' while kernel 'fill' on stream 'lanes.compute' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'data' is written here, on stream 'lanes.compute'
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'lanes.ready' is recorded here, after the write, but stream 'lanes.comm' does not wait for it
// CHECK-NOTES: :[[@LINE-34]]:5: note: stream 'lanes.compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-35]]:5: note: stream 'lanes.comm' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:3: note: let stream 'lanes.comm' wait for event 'lanes.ready' with cudaStreamWaitEvent before ncclSend
  ncclRecv(received, count, ncclFloat, 1, communicator, lanes.comm);
  ncclGroupEnd();
  cudaStreamSynchronize(lanes.comm);
}

void used_after_the_group(ncclComm_t communicator, float* received, float* out, size_t count) {
  Lanes lanes;
  ncclGroupStart();
  ncclRecv(received, count, ncclFloat, 1, communicator, lanes.comm);
  ncclGroupEnd();
#ifdef FIXED
  cudaEventRecord(lanes.ready, lanes.comm);
  cudaStreamWaitEvent(lanes.compute, lanes.ready, 0);
#endif
  use<<<4, 256, 0, lanes.compute>>>(received, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'use' on stream 'lanes.compute' may read 'received' while ncclRecv on stream 'lanes.comm' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'received' is written here, on stream 'lanes.comm'
// CHECK-NOTES: :[[@LINE-54]]:5: note: stream 'lanes.comm' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-57]]:5: note: stream 'lanes.compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'lanes.compute' after stream 'lanes.comm': record an event in stream 'lanes.comm' after the write and let stream 'lanes.compute' wait for it with cudaStreamWaitEvent before kernel 'use'
  cudaDeviceSynchronize();
}

void perhaps_a_group(ncclComm_t communicator, bool grouped, float* data, size_t count) {
  Lanes lanes;
  fill<<<4, 256, 0, lanes.compute>>>(data);
  cudaEventRecord(lanes.ready, lanes.compute);
  if (grouped) ncclGroupStart();
  ncclAllReduce(data, data, count, ncclFloat, ncclSum, communicator, lanes.comm);
  cudaStreamWaitEvent(lanes.comm, lanes.ready, 0);
  if (grouped) ncclGroupEnd();
  cudaDeviceSynchronize();
}

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
  ncclSend(data, count, ncclFloat, 1, communicator, lanes.comm);  // FIRES: cross-stream-race
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
  use<<<4, 256, 0, lanes.compute>>>(received, out);  // FIRES: cross-stream-race
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A request is complete if a copy of it is, if a list of requests is, or if a member function says so; one that code
// out of sight was given may be.
#include <cuda_runtime.h>
#include <mpi.h>

#include <vector>

__global__ void use(const float* data, float* out) { out[threadIdx.x] = data[threadIdx.x]; }

struct Receiver {
  MPI_Request request;
  void post(float* data, int n) { MPI_Irecv(data, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, &request); }
  void wait() { MPI_Wait(&request, MPI_STATUS_IGNORE); }
};

void copied(float* data, float* out, int n, cudaStream_t stream) {
  MPI_Request request;
  MPI_Irecv(data, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Request copy = request;
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
  use<<<1, 256, 0, stream>>>(data, out);
}

void listed(float* data, float* out, int n, int peers, cudaStream_t stream) {
  std::vector<MPI_Request> all(peers);
  for (int peer = 0; peer < peers; ++peer)
    MPI_Irecv(data + peer * n, n, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &all[peer]);
  for (int peer = 0; peer < peers; ++peer) {
    MPI_Wait(&all[peer], MPI_STATUS_IGNORE);
    use<<<1, 256, 0, stream>>>(data + peer * n, out);
  }
}

void finish(MPI_Request* request);
void elsewhere(float* data, float* out, int n, cudaStream_t stream) {
  MPI_Request request;
  MPI_Irecv(data, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, &request);
  finish(&request);
  use<<<1, 256, 0, stream>>>(data, out);
}

void by_member(float* data, float* out, int n, cudaStream_t stream) {
  Receiver receiver;
  receiver.post(data, n);
#ifdef FIXED
  receiver.wait();
#endif
  use<<<1, 256, 0, stream>>>(data, out);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: kernel 'use' on stream 'stream' may read 'data' while MPI_Irecv still writes it: nothing has completed request 'receiver.request' [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-39]]:35: note: 'data' is written from here on, until request 'receiver.request' is complete
// CHECK-NOTES: :[[@LINE-8]]:3: note: in the call to 'Receiver::post' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: complete request 'receiver.request' with MPI_Wait before kernel 'use': the library knows no stream, and no stream waits for it
  receiver.wait();
#endif
}

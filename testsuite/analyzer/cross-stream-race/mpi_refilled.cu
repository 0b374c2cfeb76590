// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The next step packs its edges while the messages of this one are still being sent; the messages are waited for in
// another function. Reading what is sent is right.
#include <cuda_runtime.h>
#include <mpi.h>

#include <vector>

__global__ void pack(const float* field, float* edge) { edge[threadIdx.x] = field[threadIdx.x]; }
__global__ void norm(const float* edge, float* sum) { atomicAdd(sum, edge[threadIdx.x]); }

struct Exchange {
  float *edge, *halo;
  cudaStream_t stream;
  std::vector<MPI_Request> pending;
};

void begin(Exchange& x, int n, int peer) {
  x.pending.resize(2);
  MPI_Irecv(x.halo, n, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &x.pending[0]);
  MPI_Isend(x.edge, n, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &x.pending[1]);
}

void end(Exchange& x) { MPI_Waitall(static_cast<int>(x.pending.size()), x.pending.data(), MPI_STATUSES_IGNORE); }

void two_steps(Exchange& x, const float* field, float* sum, int n, int peer) {
  pack<<<1, 256, 0, x.stream>>>(field, x.edge);
  cudaStreamSynchronize(x.stream);
  begin(x, n, peer);
  norm<<<1, 256, 0, x.stream>>>(x.edge, sum);
#ifdef FIXED
  end(x);
#endif
  pack<<<1, 256, 0, x.stream>>>(field, x.edge);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: kernel 'pack' on stream 'x.stream' may write 'x.edge' while MPI_Isend still reads it: nothing has completed request 'x.pending[1]' [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-16]]:3: note: 'x.edge' is read from here on, until request 'x.pending[1]' is complete
// CHECK-NOTES: :[[@LINE-9]]:3: note: in the call to 'begin' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: complete request 'x.pending[1]' with MPI_Wait before kernel 'pack': the library knows no stream, and no stream waits for it
  end(x);
#endif
  cudaStreamSynchronize(x.stream);
}

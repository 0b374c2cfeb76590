// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// OP-DSL/OP2-Common#247, OS: the wait before MPI covers the whole core kernel, only the gathers are needed.
#include <cuda_runtime.h>
#include <mpi.h>

__global__ void gather(const double* set, double* halo) { halo[threadIdx.x] = set[threadIdx.x]; }
__global__ void core(double* set) { set[threadIdx.x + 256] += 1.0; }

static void start_gather(const double* set, double* halo, cudaStream_t stream) {
  gather<<<1, 256, 0, stream>>>(set, halo);
}

void loop(double* set, double* other, double* halo, int n, int neighbour) {
  cudaStream_t gathers, compute;
  cudaStreamCreateWithFlags(&gathers, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  start_gather(set, halo, gathers);
  core<<<64, 256, 0, compute>>>(other);
#ifdef FIXED
  cudaStreamSynchronize(gathers);
#else
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only streams 'gathers' and 'compute' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-2]]:3: note: wait for each of them with cudaStreamSynchronize, or for an event in each
#endif
  MPI_Send(halo, n, MPI_DOUBLE, neighbour, 0, MPI_COMM_WORLD);
  cudaStreamSynchronize(compute);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// MPI_Recv_init and MPI_Send_init only describe a message, which begins with MPI_Start: work of before may still run. A
// plain MPI_Recv begins where it stands.
#include <cuda_runtime.h>
#include <mpi.h>

__global__ void use(float* data) { data[threadIdx.x] += 1.0f; }

void described(float* halo, float* edge, int n, int rounds, cudaStream_t s) {
  MPI_Request r[2];
  use<<<1, 256, 0, s>>>(halo);
  use<<<1, 256, 0, s>>>(edge);
  MPI_Recv_init(halo, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Send_init(edge, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, &r[1]);
  for (int i = 0; i < rounds; ++i) {
    cudaStreamSynchronize(s);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    use<<<1, 256, 0, s>>>(halo);
    use<<<1, 256, 0, s>>>(edge);
  }
  cudaStreamSynchronize(s);
}

void received(float* halo, int n, cudaStream_t s) {
  use<<<1, 256, 0, s>>>(halo);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  MPI_Recv(halo, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'halo' while kernel 'use' on stream 's' still updates it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'halo' is updated here, on stream 's'
// CHECK-NOTES: :[[@LINE-3]]:3: note: wait for stream 's' with cudaStreamSynchronize before the write
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// MPI_Irecv lets the library write the buffer until its request is complete: another request's completion does not say so.
#include <cuda_runtime.h>
#include <mpi.h>

__global__ void unpack(const double* halo, double* field) { field[threadIdx.x] = halo[threadIdx.x]; }

void exchange(double* halo, const double* edge, double* field, int n, int left, int right, cudaStream_t stream) {
  MPI_Request requests[2];
  MPI_Irecv(halo, n, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(edge, n, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
#ifdef FIXED
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
#else
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
#endif
  unpack<<<1, 256, 0, stream>>>(halo, field);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: kernel 'unpack' on stream 'stream' may read 'halo' while MPI_Irecv still writes it: nothing has completed request 'requests[0]' [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'halo' is written from here on, until request 'requests[0]' is complete
// CHECK-NOTES: :[[@LINE-4]]:3: note: complete request 'requests[0]' with MPI_Wait before kernel 'unpack': the library knows no stream, and no stream waits for it
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
#else
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// dealii/dealii#8880, HO: MPI sends a device buffer that a kernel is still packing.
#include <cuda_runtime.h>
#include <mpi.h>

__global__ void gather_ghosts(const double* vector, double* buffer) { buffer[threadIdx.x] = vector[threadIdx.x]; }

static void pack(const double* vector, double* buffer) { gather_ghosts<<<1, 256>>>(vector, buffer); }

void export_ghosts(const double* vector, double* buffer, int n, int neighbour) {
  MPI_Request request;
  pack(vector, buffer);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  MPI_Isend(buffer, n, MPI_DOUBLE, neighbour, 0, MPI_COMM_WORLD, &request);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'buffer' while kernel 'gather_ghosts' on the default stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-10]]:58: note: 'buffer' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-7]]:3: note: in the call to 'pack' here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for the default stream with cudaStreamSynchronize before the read
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

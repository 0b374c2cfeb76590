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
  MPI_Isend(buffer, n, MPI_DOUBLE, neighbour, 0, MPI_COMM_WORLD, &request);  // FIRES: host-read-before-done
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

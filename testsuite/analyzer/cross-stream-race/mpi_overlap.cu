// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Ghost cells are received while the inner cells are computed: a kernel that leaves out what is in front of them, in the
// ways that this is written, or whose first element is not known. One that begins at the first ghost cell meets the
// message.
#include <cuda_runtime.h>
#include <mpi.h>

#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define J (blockIdx.y * blockDim.y + threadIdx.y)

__global__ void all(float* u, int n) {
  if (I < n) u[I] *= 0.5f;
}
__global__ void shifted(float* u, int n) {
  int i = I + 1;
  if (i <= n) u[i] *= 0.5f;
}
__global__ void by_row(float* u, int nx, int ny) {
  int k = I, j = k / nx;
  if (j < 2 || j > ny - 1) return;
  u[k] *= 0.5f;
}
__device__ int at(int i, int j, int nx) { return (j + 1) * nx + i; }
__global__ void by_helper(float* u, int nx, int ny) {
  if (I < nx && J < ny) u[at(I, J, nx)] *= 0.5f;
}
__global__ void from(float* u, int first, int last) {
  for (int i = first + I; i < last; i += gridDim.x * blockDim.x) u[i] *= 0.5f;
}
__global__ void masked(float* u, const int* inner, int n) {
  if (I < n && inner[I]) u[I] *= 0.5f;
}
struct Grid {
  float* u;
  int nx, halo;
  __device__ float& operator()(int i, int j) const { return u[(j + halo) * nx + i]; }
};
__global__ void by_view(Grid g, int ny) {
  if (I < g.nx && J < ny) g(I, J) *= 0.5f;
}

void step(float* u, int nx, int ny, int up, cudaStream_t s) {
  MPI_Request ghosts;
  MPI_Irecv(u, nx, MPI_FLOAT, up, 0, MPI_COMM_WORLD, &ghosts);
#ifdef FIXED
  MPI_Wait(&ghosts, MPI_STATUS_IGNORE);
#endif
  all<<<8, 256, 0, s>>>(u, nx * ny);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'all' on stream 's' may update 'u' while MPI_Irecv still writes it: nothing has completed request 'ghosts' [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'u' is written from here on, until request 'ghosts' is complete
// CHECK-NOTES: :[[@LINE-3]]:3: note: complete request 'ghosts' with MPI_Wait before kernel 'all': the library knows no stream, and no stream waits for it
#ifndef FIXED
  MPI_Wait(&ghosts, MPI_STATUS_IGNORE);
#endif
  cudaStreamSynchronize(s);
}

void overlapped(float* u, const int* inner, int nx, int ny, int up, cudaStream_t s) {
  MPI_Request ghosts;
  MPI_Irecv(u, nx, MPI_FLOAT, up, 0, MPI_COMM_WORLD, &ghosts);
  shifted<<<8, 256, 0, s>>>(u, nx * ny);
  by_row<<<8, 256, 0, s>>>(u, nx, ny);
  by_helper<<<dim3(8, 8), dim3(32, 8), 0, s>>>(u, nx, ny);
  from<<<8, 256, 0, s>>>(u, nx, nx * ny);
  masked<<<8, 256, 0, s>>>(u, inner, nx * ny);
  by_view<<<dim3(8, 8), dim3(32, 8), 0, s>>>(Grid{u, nx, 1}, ny);
  all<<<8, 256, 0, s>>>(u + nx, nx * (ny - 2));
  MPI_Wait(&ghosts, MPI_STATUS_IGNORE);
  all<<<8, 256, 0, s>>>(u, nx * ny);
  cudaStreamSynchronize(s);
}

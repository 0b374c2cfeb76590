// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A copy into the elements that a kernel's condition on its index leaves out does not meet the kernel. A copy of more
// than that does, and so does any copy where the kernel reads its neighbour: it reads the first element, too.
#include <cuda_runtime.h>

#include "mock_device.h"

__global__ void integrate(double* cells, int n) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= 1 && cell < n - 1) cells[cell] *= 0.5;
}

__global__ void smooth(const double* cells, double* smoothed, int n) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell == 0 || cell >= n - 1) return;
  smoothed[cell] = cells[cell - 1] + cells[cell] + cells[cell + 1];
}

__device__ void cool(double* cells, unsigned cell) { cells[cell] -= 1.0; }

__global__ void cool_rows(double* cells, unsigned width, unsigned height) {
  const unsigned x = threadIdx.x;
  const unsigned y = blockIdx.x;
  if (y > 0 && y < height - 1) cool(cells, y * width + x);
}


void boundary_value(double* cells, const double* value, int n) {
  cudaStream_t inner, edge;
  cudaStreamCreate(&inner);
  cudaStreamCreate(&edge);
  integrate<<<64, 256, 0, inner>>>(cells, n);
#ifndef FIXED
  cudaMemcpyAsync(cells, value, n * sizeof(double), cudaMemcpyDeviceToDevice, edge);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to device) on stream 'edge' may write 'cells' while kernel 'integrate' on stream 'inner' still updates it [streamsan-cross-stream-race]
#else
  cudaMemcpyAsync(cells, value, sizeof(double), cudaMemcpyDeviceToDevice, edge);
#endif
  cudaDeviceSynchronize();
  smooth<<<64, 256, 0, inner>>>(value, cells, n);
#ifndef FIXED
  cudaMemcpyAsync(cells, value, 2 * sizeof(double), cudaMemcpyDeviceToDevice, edge);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to device) on stream 'edge' may write 'cells' while kernel 'smooth' on stream 'inner' still writes it [streamsan-cross-stream-race]
#else
  cudaMemcpyAsync(cells, value, sizeof(double), cudaMemcpyDeviceToDevice, edge);
#endif
  cudaDeviceSynchronize();
  cudaStreamDestroy(inner);
  cudaStreamDestroy(edge);
}

void read_neighbours(double* cells, double* smoothed, const double* value, int n) {
  cudaStream_t inner, edge;
  cudaStreamCreate(&inner);
  cudaStreamCreate(&edge);
  smooth<<<64, 256, 0, inner>>>(cells, smoothed, n);
#ifdef FIXED
  cudaStreamSynchronize(inner);
#endif
  cudaMemcpyAsync(cells, value, sizeof(double), cudaMemcpyDeviceToDevice, edge);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: cudaMemcpyAsync (device to device) on stream 'edge' may write 'cells' while kernel 'smooth' on stream 'inner' still reads it [streamsan-cross-stream-race]
#endif
  cudaDeviceSynchronize();
  cudaStreamDestroy(inner);
  cudaStreamDestroy(edge);
}

void halo_row(double* cells, const double* row, int width, int height) {
  cudaStream_t inner, edge;
  cudaStreamCreate(&inner);
  cudaStreamCreate(&edge);
  cool_rows<<<64, 256, 0, inner>>>(cells, width, height);
#ifndef FIXED
  cudaMemcpyAsync(cells, row, width * height * sizeof(double), cudaMemcpyDeviceToDevice, edge);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to device) on stream 'edge' may write 'cells' while kernel 'cool_rows' on stream 'inner' still updates it [streamsan-cross-stream-race]
#else
  cudaMemcpyAsync(cells, row, width * sizeof(double), cudaMemcpyDeviceToDevice, edge);
#endif
  cudaDeviceSynchronize();
  cudaStreamDestroy(inner);
  cudaStreamDestroy(edge);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// One kernel for the inside of a grid and one for its margin share it out. Two for the inside meet, and so do an inside
// and the whole.
#include <cuda_runtime.h>

#include "mock_device.h"

__global__ void inside(float* grid, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) grid[y * width + x] = 1.0f;
}

__global__ void margin(float* grid, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  if (x == 0 || x == width - 1 || y == 0 || y == height - 1) grid[y * width + x] = 0.0f;
}

__global__ void everywhere(float* grid, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grid[i] = 2.0f;
}

__global__ void behind(float* grid, int n, int halo) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= halo && i < n - halo) grid[i] = 3.0f;
}

__global__ void halo_only(float* grid, int n, int halo) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < halo || i >= n - halo) grid[i] = 4.0f;
}

void share_out(float* grid, int width, int height, int halo) {
  cudaStream_t wide, thin;
  cudaStreamCreate(&wide);
  cudaStreamCreate(&thin);
  inside<<<64, 256, 0, wide>>>(grid, width, height);
#ifndef FIXED
  everywhere<<<64, 256, 0, thin>>>(grid, width * height);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'everywhere' on stream 'thin' may write 'grid' while kernel 'inside' on stream 'wide' still writes it [streamsan-cross-stream-race]
#else
  margin<<<64, 256, 0, thin>>>(grid, width, height);
#endif
  cudaDeviceSynchronize();
  behind<<<64, 256, 0, wide>>>(grid, width * height, halo);
#ifndef FIXED
  behind<<<64, 256, 0, thin>>>(grid, width * height, halo);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'behind' on stream 'thin' may write 'grid' while kernel 'behind' on stream 'wide' still writes it [streamsan-cross-stream-race]
#else
  halo_only<<<64, 256, 0, thin>>>(grid, width * height, halo);
#endif
  cudaDeviceSynchronize();
  cudaStreamDestroy(wide);
  cudaStreamDestroy(thin);
}

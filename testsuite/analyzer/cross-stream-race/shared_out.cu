// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two kernels that write only where indices and flags in memory tell them to may share one result out between them: found
// rows are written by the one, those that were missing by the other. One that writes every row meets the other.
#include <cuda_runtime.h>

#include "mock_device.h"

struct Tile {
  template <class T>
  __device__ T shfl(T&& value, int lane) const;
};

__device__ void copy_row(int size, float* to, const float* from) {
  for (int i = threadIdx.x; i < size; i += 32) to[i] = from[i];
}

constexpr unsigned kNone = ~0u;

__global__ void gather(const unsigned* index, int n, const float* table, int size, float* out) {
  const Tile tile;
  unsigned mine = kNone;
  if (threadIdx.x < n) mine = index[threadIdx.x];
  for (int lane = 0; lane < 32; ++lane) {
#ifdef FIXED
    if (tile.shfl(mine, lane) == kNone) continue;
#endif
    const float* row = table + tile.shfl(mine, lane) * size;
    for (int i = threadIdx.x; i < size; i += 32) out[lane * size + i] = row[i];
  }
}

__global__ void scatter(const unsigned* position, int n, const float* rows, int size, float* out) {
  if (threadIdx.x < n) copy_row(size, out + position[threadIdx.x] * size, rows + threadIdx.x * size);
}

void look_up(const unsigned* index, const unsigned* missing, const float* table, const float* rows, float* out, int n) {
  cudaStream_t near, far;
  cudaStreamCreate(&near);
  cudaStreamCreate(&far);
  gather<<<1, 32, 0, near>>>(index, n, table, 32, out);
#ifndef FIXED
  scatter<<<1, 32, 0, far>>>(missing, n, rows, 32, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scatter' on stream 'far' may write 'out' while kernel 'gather' on stream 'near' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'out' is written here, on stream 'near'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'near' is created here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'far' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'far' after stream 'near': record an event in stream 'near' after the write and let stream 'far' wait for it with cudaStreamWaitEvent before kernel 'scatter'
#else
  scatter<<<1, 32, 0, far>>>(missing, n, rows, 32, out);
#endif
  cudaDeviceSynchronize();
}

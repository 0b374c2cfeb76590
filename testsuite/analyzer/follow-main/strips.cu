// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
//
// Which elements a kernel works on, its indices say, with the grid and the arguments of the run: rows of an image, a part
// that begins at a number, every third element. Silent: parts that do not meet, and what some threads may not get to.
#include <cuda_runtime.h>

#include <vector>

struct View {
  float* at;
  int width;
};
__device__ float& element(const View& view, int x, int y) { return view.at[y * view.width + x]; }

__global__ void rain(float* heights, int width, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= rows) return;
  heights[y * width + x] += 1;
}
__global__ void blur(const float* heights, float* out, int width, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  const int up = y > 0 ? y - 1 : y, down = y + 1 < rows ? y + 1 : y;
  out[y * width + x] = heights[up * width + x] + heights[y * width + x] + heights[down * width + x];
}
__global__ void settle(float* heights, int first, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) heights[first + i] *= 0.5f;
}
__global__ void column(View view, int x, int rows) {
  const int y = threadIdx.x + blockIdx.x * blockDim.x;
  if (y < rows) element(view, x, y) = 0;
}
__global__ void some_rows(float* heights, const int* wanted, int width, int rows) {
  const int y = threadIdx.x;
  if (y >= rows || wanted[y] == 0) return;
  for (int x = 0; x < width; ++x) heights[y * width + x] = 0;
}

constexpr int kWidth = 96, kRows = 48, kAll = kWidth * kRows;

struct Lane {
  Lane() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
};

// The last strip is not waited for.
void strips(std::vector<Lane>& lanes, float* heights, float* out) {
  const int rows = kRows / 3;
  for (int i = 0; i < 3; ++i)
    rain<<<dim3((kWidth + 31) / 32, rows), 32, 0, lanes[i].stream>>>(heights + i * rows * kWidth, kWidth, rows);
#ifdef FIXED
  const int joined = 3;
#else
  const int joined = 2;
#endif
  for (int i = 0; i < joined; ++i) {
    cudaEventRecord(lanes[i].done, lanes[i].stream);
    cudaStreamWaitEvent(lanes[3].stream, lanes[i].done, 0);
  }
  blur<<<dim3((kWidth + 31) / 32, kRows), 32, 0, lanes[3].stream>>>(heights, out, kWidth, kRows);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

// Two parts, which meet in one row.
void parts(std::vector<Lane>& lanes, float* heights) {
#ifdef FIXED
  const int first = kAll / 2;
#else
  const int first = kAll / 2 - kWidth;
#endif
  settle<<<4, 64, 0, lanes[0].stream>>>(heights, 0, kAll / 2);
  settle<<<4, 64, 0, lanes[1].stream>>>(heights, first, kAll - first);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

// One column each.
void columns(std::vector<Lane>& lanes, float* heights) {
  const View view{heights, kWidth};
  column<<<1, 64, 0, lanes[0].stream>>>(view, 0, kRows);
  column<<<1, 64, 0, lanes[1].stream>>>(view, kWidth - 1, kRows);
#ifndef FIXED
  column<<<1, 64, 0, lanes[2].stream>>>(view, kWidth - 1, kRows);  // FIRES: cross-stream-race
#endif
  cudaDeviceSynchronize();
}

// Which rows, the memory says; and the first half of the others.
void chosen(std::vector<Lane>& lanes, float* heights, const int* wanted) {
  some_rows<<<1, 64, 0, lanes[0].stream>>>(heights + kAll / 2, wanted, kWidth, kRows / 2);
  settle<<<4, 64, 0, lanes[1].stream>>>(heights, kAll - 8, 8);
  settle<<<4, 64, 0, lanes[2].stream>>>(heights, 0, kAll / 2);
  cudaDeviceSynchronize();
}

int main() {
  std::vector<Lane> lanes(4);
  float *heights, *out;
  int* wanted;
  cudaMalloc(&heights, kAll * sizeof(float));
  cudaMalloc(&out, kAll * sizeof(float));
  cudaMalloc(&wanted, kRows * sizeof(int));
  strips(lanes, heights, out);
  parts(lanes, heights);
  columns(lanes, heights);
  chosen(lanes, heights, wanted);
}

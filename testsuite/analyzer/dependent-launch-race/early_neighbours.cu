// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A constructor reads an element and its neighbours, whose indices are held inside of the row: of those nothing is known,
// and the element itself is read all the same.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__device__ int min(int a, int b) { return a < b ? a : b; }
__device__ int max(int a, int b) { return a > b ? a : b; }

__global__ void gradient(const float* image, float* grad, int width, int height) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) grad[y * width + x] = image[y * width + x];
}

class Window {
 public:
  __device__ Window(const float* row, int x, int width)
      : left_(row[max(x - 1, 0)]), middle_(row[x]), right_(row[min(x + 1, width - 1)]) {}
// CHECK-MESSAGES: :[[@LINE-1]]:15: warning: kernel 'smooth' on stream 'config.stream' may read 'grad' while kernel 'gradient' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+31]]:3: note: kernel 'smooth' is launched here
// CHECK-NOTES: :[[@LINE+20]]:3: note: 'grad' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:15: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
  __device__ float mean() const { return (left_ + middle_ + right_) / 3.0f; }

 private:
  float left_, middle_, right_;
};

__global__ void smooth(const float* grad, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  WAIT_FIRST;
  const Window window(grad + y * width, x, width);
  cudaGridDependencySynchronize();
  out[y * width + x] = window.mean();
}

void run(const float* image, float* grad, float* out, int width, int height, cudaStream_t stream) {
  const dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
  gradient<<<grid, block, 0, stream>>>(image, grad, width, height);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, smooth, grad, out, width, height);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// opencv/opencv_contrib#3089, OS: the reduction of each optical-flow step goes to the default stream and stops all.
#include <cuda_runtime.h>

__global__ void estimate(const float* flow, float* diff) { diff[threadIdx.x] = flow[threadIdx.x]; }
__global__ void reduce(const float* diff, float* sum) { atomicAdd(sum, diff[threadIdx.x]); }

static float sum_of(const float* diff, float* d_sum, cudaStream_t stream) {
  float sum = 0.0f;
  cudaMemsetAsync(d_sum, 0, sizeof(float), stream);
#ifdef FIXED
  reduce<<<1, 256, 0, stream>>>(diff, d_sum);
#else
  reduce<<<1, 256>>>(diff, d_sum);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'reduce' goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
  cudaMemcpyAsync(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  return sum;
}

void optical_flow(const float* flow, float* diff, float* d_sum, int iterations, cudaStream_t stream) {
  for (int i = 0; i < iterations; ++i) {
    estimate<<<1, 256, 0, stream>>>(flow, diff);
    if (sum_of(diff, d_sum, stream) < 0.01f) break;
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A two-stream pipeline: one stream copies the next block in while another computes on it. The compute stream must wait for
// the copy; -DFIXED has the two lines that make it do so.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kBlocks = 4;
constexpr int kCount = 1 << 20;

__global__ void scale(const float* in, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 2.0f * in[i];
}

void copy_in(float* device, const float* host, cudaStream_t copies) {
  cudaMemcpyAsync(device, host, kCount * sizeof(float), cudaMemcpyHostToDevice, copies);
}

void compute(const float* in, float* out, cudaStream_t work) {
  scale<<<(kCount + 255) / 256, 256, 0, work>>>(in, out, kCount);
}

int main() {
  float *host, *in[kBlocks], *out[kBlocks];
  cudaStream_t copies, work;
  cudaEvent_t copied;
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  cudaMallocHost(&host, kCount * sizeof(float));
  for (int i = 0; i < kCount; ++i) host[i] = 1.0f;
  for (int b = 0; b < kBlocks; ++b) {
    cudaMalloc(&in[b], kCount * sizeof(float));
    cudaMalloc(&out[b], kCount * sizeof(float));
  }

  for (int b = 0; b < kBlocks; ++b) {
    copy_in(in[b], host, copies);
#ifdef FIXED
    cudaEventRecord(copied, copies);
    cudaStreamWaitEvent(work, copied, 0);
#endif
    compute(in[b], out[b], work);
  }
  cudaError_t status = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(status));

  for (int b = 0; b < kBlocks; ++b) {
    cudaFree(in[b]);
    cudaFree(out[b]);
  }
  cudaFreeHost(host);
  return status != cudaSuccess;
}

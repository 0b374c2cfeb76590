// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of docs/tutorial.md. STEP says how far its reader has come: 1 is the program as it was written, 2 has the
// race repaired, 3 is without the synchronisation that nothing needs.
#include <cuda_runtime.h>

#include <cstdio>

#ifndef STEP
#define STEP 1
#endif

constexpr int kBatches = 4;
constexpr int kCount = 1 << 18;

__global__ void square(const float* in, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}

int main() {
  cudaStream_t copies, work;
  cudaEvent_t arrived;
  float *host, *results, *in[kBatches], *out[kBatches];
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming);
  cudaMallocHost(&host, kBatches * kCount * sizeof(float));
  cudaMallocHost(&results, kBatches * sizeof(float));
  for (int i = 0; i < kBatches * kCount; ++i) host[i] = 3.0f;
  for (int b = 0; b < kBatches; ++b) {
    cudaMalloc(&in[b], kCount * sizeof(float));
    cudaMalloc(&out[b], kCount * sizeof(float));
  }

  for (int b = 0; b < kBatches; ++b) {
    cudaMemcpyAsync(in[b], host + b * kCount, kCount * sizeof(float), cudaMemcpyHostToDevice, copies);
#if STEP >= 2
    cudaEventRecord(arrived, copies);
    cudaStreamWaitEvent(work, arrived, 0);
#endif
    square<<<(kCount + 255) / 256, 256, 0, work>>>(in[b], out[b], kCount);
    cudaMemcpyAsync(&results[b], out[b], sizeof(float), cudaMemcpyDeviceToHost, work);
#if STEP < 3
    cudaStreamSynchronize(copies);
#endif
  }
  cudaDeviceSynchronize();
  for (int b = 0; b < kBatches; ++b) std::printf("%g\n", results[b]);

  for (int b = 0; b < kBatches; ++b) {
    cudaFree(in[b]);
    cudaFree(out[b]);
  }
  cudaFreeHost(host);
  cudaFreeHost(results);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The example: a two-stream pipeline as it is written every day. Batches are uploaded in one stream and worked on in
// another; an event tells the second stream when a batch has arrived, another one tells the first when the staging
// buffer is free again.
//
// It has one bug, of a kind that passes every test on a quiet machine: `arrived` is recorded before the upload it
// stands for. Built with -DFIXED it is recorded behind it.
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                        \
  do {                                                                                    \
    cudaError_t error = call;                                                             \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kBatch = 1 << 16;
constexpr int kBatches = 4;

__global__ void add_batch(const float* batch, float* total) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  total[i] += batch[i];
}

struct Pipeline {
  float *host, *batch, *total;
  cudaStream_t upload, work;
  cudaEvent_t arrived, used;
};

void upload_batch(const Pipeline& p, int number) {
  CUDA(cudaStreamWaitEvent(p.upload, p.used));
#ifndef FIXED
  CUDA(cudaEventRecord(p.arrived, p.upload));
#endif
  CUDA(cudaMemcpyAsync(p.batch, p.host + number * kBatch, kBatch * sizeof(float), cudaMemcpyHostToDevice, p.upload));
#ifdef FIXED
  CUDA(cudaEventRecord(p.arrived, p.upload));
#endif
}

void work_on_batch(const Pipeline& p) {
  CUDA(cudaStreamWaitEvent(p.work, p.arrived));
  add_batch<<<kBatch / 256, 256, 0, p.work>>>(p.batch, p.total);
  CUDA(cudaGetLastError());
  CUDA(cudaEventRecord(p.used, p.work));
}

int main() {
  Pipeline p;
  CUDA(cudaMallocHost(&p.host, kBatches * kBatch * sizeof(float)));
  CUDA(cudaMalloc(&p.batch, kBatch * sizeof(float)));
  CUDA(cudaMalloc(&p.total, kBatch * sizeof(float)));
  CUDA(cudaStreamCreateWithFlags(&p.upload, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&p.work, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&p.arrived, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&p.used, cudaEventDisableTiming));
  for (int i = 0; i < kBatches * kBatch; ++i) p.host[i] = 1.0f;

  CUDA(cudaMemsetAsync(p.total, 0, kBatch * sizeof(float), p.work));
  for (int i = 0; i < kBatches; ++i) {
    upload_batch(p, i);
    work_on_batch(p);
  }
  CUDA(cudaMemcpyAsync(p.host, p.total, kBatch * sizeof(float), cudaMemcpyDeviceToHost, p.work));
  CUDA(cudaStreamSynchronize(p.work));
  std::printf("pipeline: %d batches of %d numbers\n", kBatches, kBatch);
}

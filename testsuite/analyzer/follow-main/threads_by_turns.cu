// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_STREAM
//
// Two threads, each with a stream of its own, sum up through scratch memory that a cache hands out. The cache's mutex
// keeps its table whole, but does not order the work: one block for both is a conflict. One for each thread is none,
// and neither is one for each stream.
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <thread>

constexpr size_t kBytes = 4096;

__global__ void partial_sums(const float* in, float* scratch) { scratch[threadIdx.x] = in[threadIdx.x]; }
__global__ void finish(const float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

class ScratchCache {
 public:
  float* of(size_t bytes, cudaStream_t stream) {
#if defined(FIXED) && !defined(BY_STREAM)
    thread_local std::map<size_t, float*> blocks;
    float*& block = blocks[bytes];
#elif defined(FIXED)
    const std::lock_guard<std::mutex> lock(mutex_);
    float*& block = by_stream_[stream];
#else
    const std::lock_guard<std::mutex> lock(mutex_);
    float*& block = by_size_[bytes];
#endif
    if (block == nullptr) cudaMalloc(&block, bytes);
    return block;
  }

 private:
  std::mutex mutex_;
  std::map<size_t, float*> by_size_;
  std::map<cudaStream_t, float*> by_stream_;
};

ScratchCache cache;

void reduce(const float* in, float* out, cudaStream_t stream) {
  float* scratch = cache.of(kBytes, stream);
  partial_sums<<<1, 256, 0, stream>>>(in, scratch);  // FIRES: cross-stream-race
  finish<<<1, 256, 0, stream>>>(scratch, out);  // FIRES: cross-stream-race
}

void work(const float* in) {
  cudaStream_t own;
  float* out = nullptr;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  cudaMalloc(&out, kBytes);
  for (int round = 0; round < 3; ++round) reduce(in, out, own);
  cudaStreamSynchronize(own);
  cudaFree(out);
  cudaStreamDestroy(own);
}

int main() {
  float* in = nullptr;
  cudaMalloc(&in, kBytes);
  cudaMemset(in, 0, kBytes);
  cudaDeviceSynchronize();
  std::thread first(work, in);
  std::thread second(work, in);
  first.join();
  second.join();
}

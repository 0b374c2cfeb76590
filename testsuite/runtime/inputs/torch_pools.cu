// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of memory/torch-own-pool.test: a block that goes back while a side stream reads it, and may be handed out again.
#include <cstring>

#include "must.h"
#include "torch_pools.h"

__global__ void consume(const char*) {}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  char* segment;
  cudaStream_t side;
  must(cudaMalloc(&segment, 1 << 20));
  must(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  const PoolId theirs{7, 1}, older{0, 9};
  if (std::strcmp(mode, "pool") == 0 && at::cuda::MemPool{7}.id() != theirs) return 1;
  if (std::strcmp(mode, "older-pool") == 0 && c10::cuda::MemPool{9}.id() != older) return 1;
  const c10::Device device{1, 0};
  c10::reportMemoryUsageToProfiler(segment, 4096, 4096, 1 << 20, device);
  consume<<<1, 32, 0, side>>>(segment);
  c10::reportMemoryUsageToProfiler(segment, -4096, 0, 1 << 20, device);
  if (count > 2) {
    if (std::strcmp(arguments[2], "waited") == 0) must(cudaStreamSynchronize(side));
    c10::reportMemoryUsageToProfiler(segment, 4096, 4096, 1 << 20, device);
    must(cudaMemsetAsync(segment, 0, 4096, nullptr));
  }
  must(cudaDeviceSynchronize());
}

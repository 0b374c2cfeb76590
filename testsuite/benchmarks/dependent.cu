// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain of short kernels of which each is launched to begin before the one in front of it has ended, as engines do that
// write one word after the other: what a dependent launch costs. Each kernel lets the next one begin at once, waits for
// the one in front, and adds a layer's 4 MiB of weights to what that has written.
//
// usage: dependent [BLOCKS [LAUNCHES [UNTIMED]]]
// prints {"ms": ..., "launches": ...}: the median block, for one launch
#include <cuda_runtime.h>

#include "steady.h"

namespace {

constexpr int kLayers = 8;
constexpr int kCount = 1 << 20;  // floats of a layer
constexpr int kThreads = 256;

__global__ void layer(const float* in, const float* weights, float* out) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float weight = weights[i];  // nobody writes weights: they need not wait
  cudaGridDependencySynchronize();
  out[i] = in[i] + weight;
}

float* floats(int count) {
  float* out;
  MUST(cudaMalloc(&out, count * sizeof(float)) == cudaSuccess);
  MUST(cudaMemset(out, 0, count * sizeof(float)) == cudaSuccess);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  float* const weights = floats(kLayers * kCount);
  float* const states[] = {floats(kCount), floats(kCount)};
  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  MUST(cudaDeviceSynchronize() == cudaSuccess);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = kCount / kThreads;
  config.blockDim = kThreads;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  int turn = 0;
  time_steady(Plan(argc, argv, {.blocks = 20, .launches = 4000, .untimed = 4000}), [&] {
    const float* in = states[turn % 2];
    MUST(cudaLaunchKernelEx(&config, layer, in, static_cast<const float*>(weights + turn % kLayers * kCount),
                            states[(turn + 1) % 2]) == cudaSuccess);
    ++turn;
  });
  return 0;
}

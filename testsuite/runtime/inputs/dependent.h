// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches with programmatic serialisation, and what the kernels do about it (programs of testsuite/runtime/dependent,
// which the GPU suite runs, too).
#pragma once

#include "must.h"

/// May the kernel begin before the one in front of it in its stream has ended?
enum class Begins { WhenAllHasEnded, Early };

template <class... Parameters, class... Arguments>
void launch(Begins begins, cudaStream_t stream, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = begins == Begins::Early ? 1 : 0;
  must(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

/// For the kernel in front to end.
__device__ inline void wait() { cudaGridDependencySynchronize(); }
/// Lets the kernel behind begin.
__device__ inline void trigger() { cudaTriggerProgrammaticLaunchCompletion(); }

__device__ inline unsigned index() { return blockIdx.x * blockDim.x + threadIdx.x; }

inline constexpr unsigned kBlocks = 8;
inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kCount = kBlocks * kThreads;

inline float* floats(unsigned count = kCount) {
  float* out = nullptr;
  must(cudaMalloc(&out, count * sizeof(float)));
  return out;
}

inline cudaStream_t stream() {
  cudaStream_t out = nullptr;
  must(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  return out;
}

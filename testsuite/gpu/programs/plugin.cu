// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plug-in with its own copy of the CUDA runtime, loaded with dlopen by plugin_host.cpp after the process has started.
// The pipeline race is inside it.
#include "check.h"
#include "kernels.cuh"

extern "C" int plugin_step() {
  constexpr int kCount = 1 << 18;
  constexpr size_t kBytes = kCount * sizeof(float);
  float *in, *out;
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&out, kBytes));
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaMemsetAsync(in, 0, kBytes, first));  // site: fill
#ifdef FIXED
  cudaEvent_t filled;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventRecord(filled, first));
  CHECK(cudaStreamWaitEvent(second, filled, 0));
#endif
  scale<<<blocks_for(kCount), 256, 0, second>>>(in, out, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A race of two streams, or with -DFIXED none, for programs about something else: how a process begins or ends.
#pragma once

#include "kernels.cuh"
#include "stage.h"

inline void race() {
  float* host = pinned_floats();
  float* data = device_floats();
  float* result = device_floats();
  cudaStream_t first = non_blocking_stream();
  cudaStream_t second = non_blocking_stream();
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, first));  // site: copy
#ifdef FIXED
  order(first, second);
#endif
  scale<<<blocks_for(kCount), 256, 0, second>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-EVT-04: a wait on an event nobody has recorded yet does nothing and returns success. The racy build waits first
// and records afterwards.
#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t upload = non_blocking_stream();
  cudaStream_t compute = non_blocking_stream();
  float* host = pinned_floats();
  float* data = device_floats();
  float* result = device_floats();
  cudaEvent_t uploaded = new_event();
#ifndef FIXED
  CHECK(cudaStreamWaitEvent(compute, uploaded, 0));  // site: wait
#endif
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, upload));  // site: copy
  CHECK(cudaEventRecord(uploaded, upload));
#ifdef FIXED
  CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
#endif
  scale<<<blocks_for(kCount), 256, 0, compute>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return 0;
}

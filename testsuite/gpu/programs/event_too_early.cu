// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-EVT-01: a record captures what the stream holds at that call. Recorded before the copy, the event orders nothing
// that matters; the report must name it.
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
  CHECK(cudaEventRecord(uploaded, upload));  // site: record
#endif
  CHECK(cudaMemcpyAsync(data, host, kBytes, cudaMemcpyHostToDevice, upload));  // site: copy
#ifdef FIXED
  CHECK(cudaEventRecord(uploaded, upload));
#endif
  CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
  scale<<<blocks_for(kCount), 256, 0, compute>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return 0;
}

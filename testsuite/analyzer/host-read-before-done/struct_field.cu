// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A field of a pinned struct that is a copy's destination.
#include <cuda_runtime.h>

struct Report {
  int errors;
  float worst;
};

float worst(const Report* d_report, cudaStream_t stream) {
  Report* report = nullptr;
  cudaMallocHost(&report, sizeof(Report));
  cudaMemcpyAsync(report, d_report, sizeof(Report), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float result = report->worst;  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  cudaFreeHost(report);
  return result;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Of a function without a body, only one that returns nothing and is named like a report orders nothing.
#include <cuda_runtime.h>

void log_step(const char* what, int number);
void gpu_settle(const char* what, int number);
void advance(const char* what, int number);
bool check_arrived(const char* what);

float logged(float* to, const float* from, cudaStream_t stream) {
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  log_step("copied", 1);
  return to[0];  // FIRES: host-read-before-done
}

float settled(float* to, const float* from, cudaStream_t stream) {
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
  gpu_settle("copied", 1);
  return to[0];
}

float advanced(float* to, const float* from, cudaStream_t stream) {
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
  advance("copied", 1);
  return to[0];
}

float arrived(float* to, const float* from, cudaStream_t stream) {
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
  while (!check_arrived("copied")) {
  }
  return to[0];
}

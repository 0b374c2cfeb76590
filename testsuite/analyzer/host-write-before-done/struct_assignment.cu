// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A plain struct is assigned as a whole: the usual way to fill a block of parameters.
#include <cuda_runtime.h>

struct Parameters {
  float scale;
  int count;
};

void send_two(Parameters* device, const Parameters& first, const Parameters& second, cudaStream_t s) {
  Parameters* staged = nullptr;
  cudaMallocHost(&staged, sizeof(Parameters));
  *staged = first;
  cudaMemcpyAsync(device, staged, sizeof(Parameters), cudaMemcpyHostToDevice, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  *staged = second;  // FIRES: host-write-before-done
  cudaMemcpyAsync(device + 1, staged, sizeof(Parameters), cudaMemcpyHostToDevice, s);
  cudaStreamSynchronize(s);
  cudaFreeHost(staged);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-ALC-02: cudaFree while a kernel runs. Today's driver waits, so nothing goes wrong today; nobody promises it.
// Latent, not an error, and the exit code stays the program's.
#include "kernels.cuh"
#include "stage.h"

int main() {
  float* data = device_floats();
  cudaStream_t stream = non_blocking_stream();
  fill<<<blocks_for(kCount), 256, 0, stream>>>(data, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  CHECK(cudaFree(data));  // site: free
  CHECK(cudaDeviceSynchronize());
  return 0;
}

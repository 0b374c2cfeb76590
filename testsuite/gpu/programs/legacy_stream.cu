// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-STR-10 and R-STR-12: work in the legacy default stream waits for blocking streams, not for non-blocking ones.
// The racy build makes its stream non-blocking; the repaired one an ordinary, blocking stream.
#include "kernels.cuh"
#include "stage.h"

int main() {
#ifdef FIXED
  cudaStream_t stream = blocking_stream();
#else
  cudaStream_t stream = non_blocking_stream();
#endif
  float* data = device_floats();
  float* result = device_floats();
  CHECK(cudaMemsetAsync(data, 0, kBytes, stream));                 // site: fill
  scale<<<blocks_for(kCount), 256>>>(data, result, kCount, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return 0;
}

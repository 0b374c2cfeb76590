// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "never.cuh"

void step_one(cudaStream_t stream_one) {
  wait_in_vain(stream_one);
#ifdef OWN
  cudaEvent_t own_one;
  cudaEventCreate(&own_one);
  wait_for(stream_one, own_one);
  cudaEventDestroy(own_one);
#endif
}

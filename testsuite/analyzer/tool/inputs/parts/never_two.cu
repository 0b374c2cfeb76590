// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "never.cuh"

void step_two(cudaStream_t stream_two) {
  wait_in_vain(stream_two);
#ifdef OWN
  cudaEvent_t own_two;
  cudaEventCreate(&own_two);
  wait_for(stream_two, own_two);
  cudaEventDestroy(own_two);
#endif
}

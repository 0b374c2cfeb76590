// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "both.cuh"

void fill_and_use(float* data, float* sum, cudaStream_t filling, cudaStream_t using_it) {
  produce<<<1, 32, 0, filling>>>(data);
  consume<<<1, 1, 0, using_it>>>(data, sum);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cuda_runtime.h>

#ifdef TITLE
static_assert(sizeof(TITLE) == 5, "the definition came through with its comma and its blank");
#endif

__global__ void produce(float* data) { data[threadIdx.x] = 1; }
__global__ void consume(const float* data, float* sum) { *sum = data[0]; }

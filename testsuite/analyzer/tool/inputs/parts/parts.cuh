// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "kernels.cuh"

void fill(float* data, cudaStream_t stream);

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "kernels.cuh"

void fill_and_use(float* data, float* sum, cudaStream_t filling, cudaStream_t using_it);

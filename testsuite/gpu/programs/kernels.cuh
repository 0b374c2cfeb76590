// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of the GPU suite. The signatures matter more than the work: `const T*` is what tells the judge that an
// argument is read only.
#pragma once

__global__ void fill(float* out, int n, float value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

__global__ void scale(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}

__global__ void add_one(float* inout, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) inout[i] += 1.0f;
}

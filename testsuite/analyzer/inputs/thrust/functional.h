// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../mock_device.h"

namespace thrust {
template <typename T = void>
struct plus {
  __host__ __device__ T operator()(const T& a, const T& b) const { return a + b; }
};
template <typename T = void>
struct multiplies {
  __host__ __device__ T operator()(const T& a, const T& b) const { return a * b; }
};
template <typename T = void>
struct maximum {
  __host__ __device__ T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
}  // namespace thrust

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../ATen/ATen.h"

namespace torch {
using at::add;
using at::add_out;
using at::cat;
using at::Device;
using at::DeviceType;
using at::IntArrayRef;
using at::kByte;
using at::kCPU;
using at::kCUDA;
using at::kDouble;
using at::kFloat;
using at::kHalf;
using at::kInt;
using at::kLong;
using at::matmul;
using at::mm;
using at::mm_out;
using at::mul;
using at::relu;
using at::Scalar;
using at::softmax;
using at::sum;
using at::Tensor;
using at::TensorOptions;

at::Tensor empty(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor zeros(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor ones(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor rand(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor randn(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor full(at::IntArrayRef size, const at::Scalar& value, at::TensorOptions options = {});
at::Tensor empty_like(const at::Tensor& self, at::TensorOptions options = {});
at::Tensor zeros_like(const at::Tensor& self, at::TensorOptions options = {});
at::Tensor ones_like(const at::Tensor& self, at::TensorOptions options = {});
at::Tensor from_blob(void* data, at::IntArrayRef size, const at::TensorOptions& options = {});
at::TensorOptions device(at::DeviceType type);
at::TensorOptions dtype(at::ScalarType type);
namespace cuda {
void synchronize(int64_t device_index = -1);
size_t device_count();
bool is_available();
}  // namespace cuda
}  // namespace torch

#define TORCH_CHECK(cond, ...) \
  if (!(cond)) {               \
    throw 1;                   \
  }

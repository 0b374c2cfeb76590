// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <tuple>
#include <vector>

#include "../c10/core/Allocator.h"
#include "../c10/core/Device.h"
#include "../c10/cuda/CUDAGuard.h"

namespace c10 {
enum class ScalarType : int8_t { Byte, Int, Long, Half, Float, Double };
constexpr ScalarType kByte = ScalarType::Byte;
constexpr ScalarType kInt = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double;
class Scalar {
 public:
  Scalar(double value);
  Scalar(int value);
  Scalar(int64_t value);
};
struct TensorOptions {
  TensorOptions();
  TensorOptions(DeviceType type);
  TensorOptions(Device device);
  TensorOptions(ScalarType dtype);
  TensorOptions device(DeviceType type) const;
  TensorOptions device(Device device) const;
  TensorOptions dtype(ScalarType dtype) const;
  TensorOptions pinned_memory(bool pinned) const;
};
class IntArrayRef {
 public:
  template <typename... T>
  IntArrayRef(T...);
};
}  // namespace c10

namespace at {
using c10::ArrayRef;
using c10::IntArrayRef;
using c10::kByte;
using c10::kDouble;
using c10::kFloat;
using c10::kHalf;
using c10::kInt;
using c10::kLong;
using c10::Scalar;
using c10::ScalarType;
using c10::TensorOptions;

#ifdef __CUDA__
#define SS_BOTH __attribute__((host)) __attribute__((device))
#else
#define SS_BOTH
#endif

template <typename T, size_t N>
class TensorAccessor {
 public:
  SS_BOTH TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  SS_BOTH TensorAccessor<T, N - 1> operator[](int64_t i) {
    return TensorAccessor<T, N - 1>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
  SS_BOTH int64_t size(int64_t i) const { return sizes_[i]; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};
template <typename T>
class TensorAccessor<T, 1> {
 public:
  SS_BOTH TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  SS_BOTH T& operator[](int64_t i) { return data_[strides_[0] * i]; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};
template <typename T, size_t N>
class GenericPackedTensorAccessor {
 public:
  SS_BOTH TensorAccessor<T, N - 1> operator[](int64_t i) {
    return TensorAccessor<T, N - 1>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  int64_t sizes_[N];
  int64_t strides_[N];
};

class Tensor {
 public:
  Tensor();
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  ~Tensor();
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  bool defined() const;
  void reset();
  int64_t size(int64_t dim) const;
  int64_t numel() const;
  int64_t dim() const;
  size_t nbytes() const;
  bool is_cuda() const;
  bool is_contiguous() const;
  Device device() const;
  TensorOptions options() const;
  ScalarType scalar_type() const;
  const c10::Storage& storage() const;
  void* data_ptr() const;
  template <typename T>
  T* data_ptr() const;
  template <typename T>
  T* mutable_data_ptr() const;
  template <typename T>
  const T* const_data_ptr() const;
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const;
  template <typename T, size_t N>
  GenericPackedTensorAccessor<T, N> packed_accessor32() const;
  template <typename T>
  T item() const;
  Scalar item() const;
  void record_stream(c10::Stream stream) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType device, bool non_blocking = false, bool copy = false) const;
  Tensor to(DeviceType device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor pin_memory() const;
  Tensor clone() const;
  Tensor contiguous() const;
  Tensor detach() const;
  Tensor view(IntArrayRef size) const;
  Tensor slice(int64_t dim, int64_t start, int64_t end) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  Tensor operator[](int64_t index) const;
  Tensor sum() const;
  Tensor mean() const;
  Tensor max() const;
  Tensor relu() const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor matmul(const Tensor& other) const;
  Tensor& mul_(const Tensor& other) const;
  Tensor& mul_(const Scalar& other) const;
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& fill_(const Scalar& value) const;
  Tensor& zero_() const;
  Tensor& resize_(IntArrayRef size) const;
};
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);

Tensor empty(IntArrayRef size, TensorOptions options = {});
Tensor zeros(IntArrayRef size, TensorOptions options = {});
Tensor ones(IntArrayRef size, TensorOptions options = {});
Tensor rand(IntArrayRef size, TensorOptions options = {});
Tensor randn(IntArrayRef size, TensorOptions options = {});
Tensor full(IntArrayRef size, const Scalar& value, TensorOptions options = {});
Tensor empty_like(const Tensor& self, TensorOptions options = {});
Tensor zeros_like(const Tensor& self, TensorOptions options = {});
Tensor ones_like(const Tensor& self, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& options = {});
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor mm(const Tensor& self, const Tensor& other);
Tensor relu(const Tensor& self);
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Tensor softmax(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k);
Tensor sum(const Tensor& self);
Tensor cat(ArrayRef<Tensor> tensors, int64_t dim = 0);
Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor& mm_out(Tensor& out, const Tensor& self, const Tensor& other);
}  // namespace at

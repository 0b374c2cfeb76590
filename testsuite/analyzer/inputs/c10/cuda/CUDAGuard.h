// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>

#include "CUDAStream.h"

namespace c10 {
template <typename T>
class ArrayRef {
 public:
  ArrayRef();
  ArrayRef(const T& element);
  ArrayRef(const T* data, size_t length);
  ArrayRef(std::initializer_list<T> list);
  template <typename Container>
  ArrayRef(const Container& container);
  template <size_t N>
  ArrayRef(const T (&array)[N]);
  const T* data() const;
  size_t size() const;
};
namespace cuda {
struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex device_index);
  explicit CUDAGuard(Device device);
  CUDAGuard(const CUDAGuard&) = delete;
  ~CUDAGuard();
  void set_device(Device device);
};
struct OptionalCUDAGuard {
  explicit OptionalCUDAGuard();
  explicit OptionalCUDAGuard(Device device);
  ~OptionalCUDAGuard();
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(Stream stream);
  ~CUDAStreamGuard();
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  void reset_stream(Stream stream);
  CUDAStream original_stream() const;
  CUDAStream current_stream() const;
};
struct OptionalCUDAStreamGuard {
  explicit OptionalCUDAStreamGuard();
  explicit OptionalCUDAStreamGuard(Stream stream);
  ~OptionalCUDAStreamGuard();
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  void reset_stream(Stream stream);
  void reset();
};
struct CUDAMultiStreamGuard {
  explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams);
  ~CUDAMultiStreamGuard();
  CUDAMultiStreamGuard(const CUDAMultiStreamGuard&) = delete;
};
}  // namespace cuda
}  // namespace c10
namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAMultiStreamGuard;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::OptionalCUDAGuard;
using c10::cuda::OptionalCUDAStreamGuard;
}  // namespace at::cuda

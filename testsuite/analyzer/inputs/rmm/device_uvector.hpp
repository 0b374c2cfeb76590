// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_buffer.hpp"

namespace rmm {
template <typename T>
class device_uvector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  device_uvector() = delete;
  explicit device_uvector(size_t size, cuda_stream_view stream,
                          device_async_resource_ref mr = mr::get_current_device_resource_ref());
  explicit device_uvector(const device_uvector& other, cuda_stream_view stream,
                          device_async_resource_ref mr = mr::get_current_device_resource_ref());
  device_uvector(device_uvector&&) noexcept = default;
  device_uvector& operator=(device_uvector&&) noexcept = default;
  ~device_uvector() = default;
  T* element_ptr(size_t i) noexcept;
  const T* element_ptr(size_t i) const noexcept;
  void set_element_async(size_t i, const T& v, cuda_stream_view stream);
  void set_element_to_zero_async(size_t i, cuda_stream_view stream);
  void set_element(size_t i, const T& v, cuda_stream_view stream);
  T element(size_t i, cuda_stream_view stream) const;
  T front_element(cuda_stream_view stream) const;
  T back_element(cuda_stream_view stream) const;
  void reserve(size_t new_capacity, cuda_stream_view stream);
  void resize(size_t new_size, cuda_stream_view stream);
  void shrink_to_fit(cuda_stream_view stream);
  device_buffer release() noexcept;
  T* data() noexcept;
  const T* data() const noexcept;
  iterator begin() noexcept;
  const_iterator begin() const noexcept;
  iterator end() noexcept;
  const_iterator end() const noexcept;
  size_t size() const noexcept;
  bool is_empty() const noexcept;
  cuda_stream_view stream() const noexcept;
  void set_stream(cuda_stream_view stream) noexcept;

 private:
  device_buffer storage_;
};
}  // namespace rmm

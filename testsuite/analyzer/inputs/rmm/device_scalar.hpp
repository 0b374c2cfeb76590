// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_uvector.hpp"

namespace rmm {
template <typename T>
class device_scalar {
 public:
  using value_type = T;
  device_scalar() = delete;
  explicit device_scalar(cuda_stream_view stream, device_async_resource_ref mr = mr::get_current_device_resource_ref());
  explicit device_scalar(const T& initial_value, cuda_stream_view stream,
                         device_async_resource_ref mr = mr::get_current_device_resource_ref());
  device_scalar(device_scalar&&) noexcept = default;
  ~device_scalar() = default;
  T value(cuda_stream_view stream) const;
  void set_value_async(const T& value, cuda_stream_view stream);
  void set_value_async(T&&, cuda_stream_view) = delete;
  void set_value_to_zero_async(cuda_stream_view stream);
  T* data() noexcept;
  const T* data() const noexcept;
  cuda_stream_view stream() const noexcept;
  void set_stream(cuda_stream_view stream) noexcept;

 private:
  device_uvector<T> storage_;
};
}  // namespace rmm

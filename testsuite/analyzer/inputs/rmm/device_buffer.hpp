// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mr/device/per_device_resource.hpp"

namespace rmm {
class device_buffer {
 public:
  device_buffer();
  explicit device_buffer(size_t size, cuda_stream_view stream,
                         device_async_resource_ref mr = mr::get_current_device_resource_ref());
  device_buffer(const void* source_data, size_t size, cuda_stream_view stream,
                device_async_resource_ref mr = mr::get_current_device_resource_ref());
  device_buffer(const device_buffer& other, cuda_stream_view stream,
                device_async_resource_ref mr = mr::get_current_device_resource_ref());
  device_buffer(device_buffer&& other) noexcept;
  device_buffer& operator=(device_buffer&& other) noexcept;
  ~device_buffer() noexcept;
  void reserve(size_t new_capacity, cuda_stream_view stream);
  void resize(size_t new_size, cuda_stream_view stream);
  void shrink_to_fit(cuda_stream_view stream);
  void const* data() const noexcept;
  void* data() noexcept;
  size_t size() const noexcept;
  bool is_empty() const noexcept;
  size_t capacity() const noexcept;
  cuda_stream_view stream() const noexcept;
  void set_stream(cuda_stream_view stream) noexcept;
};
}  // namespace rmm

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../cuda_stream_view.hpp"

namespace rmm {
namespace mr {
class device_memory_resource {
 public:
  virtual ~device_memory_resource() = default;
  void* allocate(size_t bytes, cuda_stream_view stream = cuda_stream_view{});
  void deallocate(void* ptr, size_t bytes, cuda_stream_view stream = cuda_stream_view{});
  void* allocate_async(size_t bytes, cuda_stream_view stream);
  void deallocate_async(void* ptr, size_t bytes, cuda_stream_view stream);
};
device_memory_resource* get_current_device_resource();
}  // namespace mr
class device_async_resource_ref {
 public:
  device_async_resource_ref(mr::device_memory_resource* resource);
  void* allocate_async(size_t bytes, cuda_stream_view stream);
  void deallocate_async(void* ptr, size_t bytes, cuda_stream_view stream);
};
namespace mr {
device_async_resource_ref get_current_device_resource_ref();
}  // namespace mr
}  // namespace rmm

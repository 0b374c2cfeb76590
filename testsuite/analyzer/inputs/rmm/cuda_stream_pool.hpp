// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cuda_stream.hpp"

namespace rmm {
class cuda_stream_pool {
 public:
  explicit cuda_stream_pool(size_t pool_size = 16, cuda_stream::flags flags = cuda_stream::flags::sync_default);
  cuda_stream_view get_stream() const noexcept;
  cuda_stream_view get_stream(size_t stream_id) const;
  size_t get_pool_size() const noexcept;
};
}  // namespace rmm

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cuda_stream_view.hpp"

namespace rmm {
class cuda_stream {
 public:
  enum class flags : unsigned int { sync_default = cudaStreamDefault, non_blocking = cudaStreamNonBlocking };
  cuda_stream(flags flags = flags::sync_default);
  cuda_stream(cuda_stream&&) = default;
  cuda_stream& operator=(cuda_stream&&) = default;
  cuda_stream(const cuda_stream&) = delete;
  ~cuda_stream();
  bool is_valid() const;
  cudaStream_t value() const;
  explicit operator cudaStream_t() const noexcept;
  cuda_stream_view view() const;
  operator cuda_stream_view() const;
  void synchronize() const;
  void synchronize_no_throw() const noexcept;
};
}  // namespace rmm

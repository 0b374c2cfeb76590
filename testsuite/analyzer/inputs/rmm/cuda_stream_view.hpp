// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cuda/stream_ref"
#include "../cuda_runtime_api.h"

namespace rmm {
class cuda_stream_view {
 public:
  constexpr cuda_stream_view() = default;
  constexpr cuda_stream_view(const cuda_stream_view&) = default;
  constexpr cuda_stream_view& operator=(const cuda_stream_view&) = default;
  cuda_stream_view(int) = delete;
  cuda_stream_view(decltype(nullptr)) = delete;
  constexpr cuda_stream_view(cudaStream_t stream) noexcept : stream_{stream} {}
  cuda_stream_view(cuda::stream_ref stream) noexcept;
  [[nodiscard]] constexpr cudaStream_t value() const noexcept { return stream_; }
  constexpr operator cudaStream_t() const noexcept { return stream_; }
  operator cuda::stream_ref() const noexcept;
  bool is_per_thread_default() const noexcept;
  bool is_default() const noexcept;
  void synchronize() const;
  void synchronize_no_throw() const noexcept;

 private:
  cudaStream_t stream_{};
};
static const cuda_stream_view cuda_stream_default{};
static const cuda_stream_view cuda_stream_legacy{cudaStreamLegacy};
static const cuda_stream_view cuda_stream_per_thread{cudaStreamPerThread};
}  // namespace rmm

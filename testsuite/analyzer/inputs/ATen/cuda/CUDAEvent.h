// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "CUDAContext.h"

namespace c10::cuda {
struct CUDAEvent {
  CUDAEvent() noexcept;
  CUDAEvent(unsigned int flags) noexcept;
  CUDAEvent(CUDAEvent&& other) noexcept;
  CUDAEvent& operator=(CUDAEvent&& other) noexcept;
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  ~CUDAEvent();
  operator cudaEvent_t() const;
  bool isCreated() const;
  cudaEvent_t event() const;
  bool query() const;
  void record();
  void recordOnce(const CUDAStream& stream);
  void record(const CUDAStream& stream);
  void block(const CUDAStream& stream);
  float elapsed_time(const CUDAEvent& other) const;
  void synchronize() const;
};
}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAEvent;
}  // namespace at::cuda

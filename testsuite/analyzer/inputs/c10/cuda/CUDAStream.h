// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../cuda_runtime_api.h"
#include "../core/Device.h"

namespace c10::cuda {
class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(c10::Stream stream);
  explicit CUDAStream(Unchecked, c10::Stream stream);
  bool operator==(const CUDAStream& other) const noexcept;
  bool operator!=(const CUDAStream& other) const noexcept;
  operator cudaStream_t() const;
  operator c10::Stream() const;
  DeviceIndex device_index() const;
  c10::Device device() const;
  StreamId id() const;
  bool query() const;
  void synchronize() const;
  int priority() const;
  cudaStream_t stream() const;
  c10::Stream unwrap() const;
};
CUDAStream getStreamFromPool(const bool isHighPriority = false, DeviceIndex device = -1);
CUDAStream getStreamFromPool(const int priority, DeviceIndex device = -1);
CUDAStream getStreamFromExternal(cudaStream_t ext_stream, DeviceIndex device_index);
CUDAStream getDefaultCUDAStream(DeviceIndex device_index = -1);
CUDAStream getCurrentCUDAStream(DeviceIndex device_index = -1);
void setCurrentCUDAStream(CUDAStream stream);
}  // namespace c10::cuda
namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromExternal;
using c10::cuda::getStreamFromPool;
using c10::cuda::setCurrentCUDAStream;
}  // namespace at::cuda

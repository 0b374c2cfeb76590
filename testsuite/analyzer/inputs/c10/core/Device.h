// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdint.h>

namespace c10 {
using DeviceIndex = int8_t;
using StreamId = int64_t;
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
struct Device {
  Device(DeviceType type, DeviceIndex index = -1);
  DeviceIndex index() const noexcept;
  DeviceType type() const noexcept;
  bool is_cuda() const noexcept;
};
class Stream {
 public:
  Device device() const noexcept;
  StreamId id() const noexcept;
  void synchronize() const;
};
}  // namespace c10
namespace at {
using c10::Device;
using c10::DeviceType;
using c10::kCPU;
using c10::kCUDA;
}  // namespace at

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that CUPTI writes its records to: a fixed number of buffers that go round. When all are with CUPTI it gets
// none and drops records, which it counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace streamsan::timings {

class Buffers {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;  ///< some 4,800 kernels
  static constexpr std::size_t kCount = 64;

  /// One that is free, or null.
  std::uint8_t* take();
  void give_back(std::uint8_t* buffer);

 private:
  struct Buffer {
    std::atomic<std::uint8_t*> memory;
    std::atomic<bool> taken;
  };
  Buffer buffers_[kCount];
};

}  // namespace streamsan::timings

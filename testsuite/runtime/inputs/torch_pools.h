// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of PyTorch's libraries what the recorder knows of blocks and pools (interposer/torch_blocks.cpp), for
// memory/torch-own-pool.test: torch_pools.cpp plays them, torch_pools.cu uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

using PoolId = std::pair<std::uint64_t, std::uint64_t>;

namespace c10 {
struct Device {
  std::int8_t type, index;
};
void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device);
}  // namespace c10

namespace c10::cuda {
struct MemPool {
  PoolId id();
  std::uint64_t number;
};
}  // namespace c10::cuda

namespace at::cuda {
struct MemPool {
  PoolId id();
  std::uint64_t number;
};
}  // namespace at::cuda

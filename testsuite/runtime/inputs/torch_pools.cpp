// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the recorder knows of PyTorch's libraries, for memory/torch-own-pool.test.
#include <cstddef>
#include <cstdint>
#include <utility>

namespace c10 {
struct Device {
  std::int8_t type, index;
};
#ifdef C10
void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) {}
#endif
}  // namespace c10

#ifdef C10_CUDA
namespace c10::cuda {
struct MemPool {
  std::pair<std::uint64_t, std::uint64_t> id();
  std::uint64_t number;
};
std::pair<std::uint64_t, std::uint64_t> MemPool::id() { return {0, number}; }
}  // namespace c10::cuda
#endif

#ifdef TORCH_CUDA
namespace at::cuda {
struct MemPool {
  std::pair<std::uint64_t, std::uint64_t> id();
  std::uint64_t number;
};
std::pair<std::uint64_t, std::uint64_t> MemPool::id() { return {number, 1}; }
}  // namespace at::cuda

extern "C" int aoti_torch_get_current_cuda_stream(std::int32_t, void** stream) {
  *stream = nullptr;
  return 0;
}
#endif

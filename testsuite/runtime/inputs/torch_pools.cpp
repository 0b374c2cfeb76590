// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of PyTorch's libraries, by the macro: libc10.so, libc10_cuda.so or libtorch_cuda.so.
#include "torch_pools.h"

#ifdef C10
void c10::reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) {}
#endif

#ifdef C10_CUDA
PoolId c10::cuda::MemPool::id() { return {0, number}; }
#endif

#ifdef TORCH_CUDA
PoolId at::cuda::MemPool::id() { return {number, 1}; }

extern "C" int aoti_torch_get_current_cuda_stream(std::int32_t, void** stream) {
  *stream = nullptr;
  return 0;
}
#endif

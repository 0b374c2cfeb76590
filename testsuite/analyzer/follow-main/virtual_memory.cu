// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// Pages that a class maps into addresses that it has reserved: taking them away waits for nothing.
#include <cuda.h>
#include <cuda_runtime.h>

class Arena {
 public:
  Arena() {
    CUmemAllocationProp how = {};
    cuMemGetAllocationGranularity(&page_, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    slots_ = (size_t{8} << 20U) / page_;
    cuMemAddressReserve(&base_, slots_ * page_, 0, 0, 0);
    cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  }
  CUdeviceptr map(size_t slot) {
    CUmemAllocationProp how = {};
    cuMemCreate(&pages_, page_, &how, 0);
    cuMemMap(base_ + slot * page_, page_, 0, pages_, 0);
    return base_ + slot * page_;
  }
  void unmap(size_t slot) {
#ifdef FIXED
    cuStreamSynchronize(stream_);
#endif
    cuMemUnmap(base_ + slot * page_, page_);  // FIRES: premature-free
    cuMemRelease(pages_);
  }
  void clear(CUdeviceptr at) { cuMemsetD32Async(at, 0, page_ / 4, stream_); }
  size_t slots() const { return slots_; }

 private:
  size_t page_ = 0, slots_ = 0;
  CUdeviceptr base_ = 0;
  CUmemGenericAllocationHandle pages_ = 0;
  CUstream stream_ = nullptr;
};

int main() {
  cuInit(0);
  Arena arena;
  for (size_t slot = 0; slot < arena.slots(); ++slot) {
    arena.clear(arena.map(slot));
    arena.unmap(slot);
  }
}

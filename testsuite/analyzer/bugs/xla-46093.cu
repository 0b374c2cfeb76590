// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent,maybe
// RUN: %check premature-free %s --levels=definite,latent,maybe -- -DFIXED
//
// openxla/xla#46093, FE: the only synchronisation is in a loop that does not run when there are no buffers.
#include <cuda.h>

#include <cstddef>

class HostFlag {
 public:
  HostFlag() { cuMemHostAlloc(reinterpret_cast<void**>(&flag_), sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP); }
  ~HostFlag() { cuMemFreeHost(flag_); }  // FIRES: premature-free
  HostFlag(const HostFlag&) = delete;
  unsigned* get() const { return flag_; }

 private:
  unsigned* flag_ = nullptr;
};

bool check_redzones(CUdeviceptr const* buffers, size_t count, CUstream stream) {
  HostFlag flag;
  CUdeviceptr device = reinterpret_cast<CUdeviceptr>(flag.get());
  cuMemsetD32Async(device, 0, 1, stream);
#ifdef FIXED
  cuStreamSynchronize(stream);
#endif
  for (size_t i = 0; i < count; ++i) {
    cuMemcpyDtoDAsync(device, buffers[i], sizeof(unsigned), stream);
    cuStreamSynchronize(stream);
    if (*flag.get() != 0) return false;
  }
  return true;
}

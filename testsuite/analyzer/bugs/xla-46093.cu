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
  ~HostFlag() { cuMemFreeHost(flag_); }
// CHECK-MESSAGES: :[[@LINE-1]]:17: warning: 'flag.flag_' is freed by cuMemFreeHost while cuMemsetD32Async on stream 'stream' still writes it, on some path [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+25]]:3: note: 'flag' goes out of scope here
// CHECK-NOTES: :[[@LINE+15]]:3: note: 'flag.flag_' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+20]]:5: note: this waits for it, but only on some of the paths that lead there
// CHECK-NOTES: :[[@LINE-6]]:16: note: 'flag.flag_' is allocated here
// CHECK-NOTES: :[[@LINE+10]]:12: note: in the call to 'HostFlag::HostFlag' here
// CHECK-NOTES: :[[@LINE-7]]:17: note: wait for stream 'stream' with cuStreamSynchronize before it is freed
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A page of a reserved range is given back while a fill of it is queued: cuMemUnmap waits for nothing.
#include <cuda.h>

#include <cstddef>

class Pages {
 public:
  void clear(std::size_t page) { cuMemsetD8Async(base_ + page * size_, 0, size_, stream_); }

  void drop(CUmemGenericAllocationHandle memory, std::size_t page) {
    const CUdeviceptr address = base_ + page * size_;
    cuMemMap(address, size_, 0, memory, 0);
    cuMemsetD8Async(address, 0, size_, stream_);
#ifdef FIXED
    cuStreamSynchronize(stream_);
#endif
    cuMemUnmap(address, size_);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:5: warning: 'address' is freed by cuMemUnmap while cuMemsetD8Async on stream 'this->stream_' still writes it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'address' is written here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for stream 'this->stream_' with cuStreamSynchronize before it is freed
#endif
    cuMemRelease(memory);
  }

 private:
  CUdeviceptr base_;
  std::size_t size_;
  CUstream stream_;
};

void use(CUmemGenericAllocationHandle memory, Pages& pages) {
  pages.clear(1);
  pages.drop(memory, 2);
}

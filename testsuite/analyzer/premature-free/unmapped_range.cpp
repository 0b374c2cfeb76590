// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// cuMemUnmap ends a range, not the whole of what was reserved: a fill of the other chunk may be queued.
#include <cuda.h>

#include <cstddef>

void shrink(CUdeviceptr base, std::size_t chunk, CUstream s) {
#ifdef FIXED
  cuMemsetD8Async(base, 0, chunk, s);
#else
  cuMemsetD8Async(base + chunk, 0, chunk, s);
#endif
  cuMemUnmap(base + chunk, chunk);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: 'base' is freed by cuMemUnmap while cuMemsetD8Async on stream 's' still writes it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'base' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 's' with cuStreamSynchronize before it is freed
#endif
  cuStreamSynchronize(s);
}

/// What is left stays in use.
void drop_front(CUdeviceptr base, std::size_t chunk, CUstream s) {
  cuMemUnmap(base, chunk);
  cuMemsetD8Async(base + chunk, 0, chunk, s);
  cuStreamSynchronize(s);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread writes a buffer in a stream and waits for that; another reads it in a stream of its own. The tests of
// runtime/threads/order differ in how the first lets the second go on: after it has waited (-DFIXED), or before.
#pragma once

#include <atomic>

#include "must.h"

struct HandOver {
  char* buffer = nullptr;
  char* copy = nullptr;
  cudaStream_t writes = nullptr;
  cudaStream_t reads = nullptr;

  HandOver() {
    must(cudaMalloc(&buffer, 4096));
    must(cudaMalloc(&copy, 4096));
    must(cudaStreamCreateWithFlags(&writes, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&reads, cudaStreamNonBlocking));
  }
  void write() const { must(cudaMemsetAsync(buffer, 0, 4096, writes)); }
  void wait() const { must(cudaStreamSynchronize(writes)); }
  void read() const { must(cudaMemcpyAsync(copy, buffer, 4096, cudaMemcpyDeviceToDevice, reads)); }

  /// The writer's part: `lets_go` is what lets the reader go on.
  template <class LetsGo>
  void write_and(LetsGo lets_go) const {
    write();
#ifdef FIXED
    wait();
    lets_go();
#else
    lets_go();
    wait();
#endif
  }
};

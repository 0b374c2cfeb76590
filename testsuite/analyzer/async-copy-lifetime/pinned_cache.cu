// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime,premature-free %s
// RUN: %check async-copy-lifetime,premature-free %s -- -DFIXED
//
// A vector with an allocator of pinned memory that keeps what it is given back: the block goes to the next who asks, while
// the copy still reads it. One that calls cudaFreeHost waits today (R-ALC-05): latent, which is not shown. The elements
// are plain structs, whose block data() is as well.
#include <cuda_runtime.h>

#include <vector>

std::vector<void*>& kept() {
  static std::vector<void*> blocks;
  return blocks;
}

template <class T>
struct PinnedAllocator {
  using value_type = T;
  T* allocate(size_t n);
  void deallocate(T* block, size_t) {
#ifdef FIXED
    cudaFreeHost(block);
#else
    kept().push_back(block);
#endif
  }
};

struct Segment {
  int begin, end;
};

void send(Segment* to, int n, cudaStream_t stream) {
  std::vector<Segment, PinnedAllocator<Segment>> from(n);
  for (int i = 0; i < n; ++i) from[i] = Segment{i, i + 1};
  cudaMemcpyAsync(to, from.data(), n * sizeof(Segment), cudaMemcpyHostToDevice, stream);
#ifndef FIXED
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'from' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'from' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:50: note: 'from' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
#else
}
#endif

void send_and_wait(Segment* to, int n, cudaStream_t stream) {
  std::vector<Segment, PinnedAllocator<Segment>> from(n);
  cudaMemcpyAsync(to, from.data(), n * sizeof(Segment), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}

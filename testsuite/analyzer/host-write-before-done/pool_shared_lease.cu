// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
// RUN: %check host-write-before-done %s -- -DFIXED -DKEPT
//
// A pool leases pinned blocks as shared pointers whose deleter puts them back: the block goes back at the end of the
// lease, while the copy still reads it, and the next lease is the same block.
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

class Blocks {
 public:
  ~Blocks() {
    for (void* block : idle_) cudaFreeHost(block);
  }
  std::shared_ptr<void> lease() {
    void* block = nullptr;
    if (!idle_.empty()) {
      block = idle_.back();
      idle_.pop_back();
    } else {
      cudaMallocHost(&block, 65536);
    }
    return std::shared_ptr<void>(block, [this](void* back) { idle_.push_back(back); });
  }

 private:
  std::vector<void*> idle_;
};

void upload(Blocks& blocks, float* to, const float* from, size_t bytes, cudaStream_t stream,
            std::vector<std::shared_ptr<void>>& leases) {
  std::shared_ptr<void> lease = blocks.lease();
  std::memcpy(lease.get(), from, bytes);
  // CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write a block of 'blocks.idle_' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
  cudaMemcpyAsync(to, lease.get(), bytes, cudaMemcpyHostToDevice, stream);
#if defined(FIXED) && !defined(KEPT)
  cudaStreamSynchronize(stream);
#endif
#ifdef KEPT
  leases.push_back(std::move(lease));
#endif
}

void upload_both(Blocks& blocks, float* first, float* second, const float* from, size_t bytes, cudaStream_t stream) {
  std::vector<std::shared_ptr<void>> leases;
  upload(blocks, first, from, bytes, stream, leases);
  upload(blocks, second, from, bytes, stream, leases);
  cudaStreamSynchronize(stream);
}

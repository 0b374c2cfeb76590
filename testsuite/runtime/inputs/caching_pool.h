// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caching pool of the kind that frameworks have: one allocation, cut into blocks of one size, which are handed out
// again to the stream they came back from, without a wait. It is correct if it knows of every other stream that uses
// a block: a block that was used elsewhere is not handed out before an event there.
//
// With ANNOTATED it tells StreamSan; that is all the annotation a pool needs.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "must.h"

#ifdef ANNOTATED
#include <streamsan/annotate.h>
#endif

class CachingPool {
 public:
  static constexpr std::size_t kBlockBytes = 4096;

  CachingPool() { must(cudaMalloc(&arena_, 16 * kBlockBytes)); }
  ~CachingPool() {
    must(cudaDeviceSynchronize());
    must(cudaFree(arena_));
  }
  CachingPool(const CachingPool&) = delete;

  char* allocate(cudaStream_t stream) {
    std::vector<char*>& cached = cached_[stream];
    char* block;
    if (cached.empty()) {
      block = arena_ + kBlockBytes * fresh_++;
    } else {
      block = cached.back();
      cached.pop_back();
    }
    for (cudaEvent_t used : uses_[block]) must(cudaStreamWaitEvent(stream, used));
    uses_.erase(block);
    owner_[block] = stream;
#ifdef ANNOTATED
    streamsan_block_allocated(block, kBlockBytes, stream);
#endif
    return block;
  }

  /// The block is used in this stream, too: what PyTorch calls record_stream.
  void record_stream(char* block, cudaStream_t stream) {
    other_streams_[block].push_back(stream);
#ifdef ANNOTATED
    streamsan_block_used(block, stream);
#endif
  }

  void release(char* block) { release(block, owner_[block]); }
  /// The next owner's work will follow in the stream.
  void release(char* block, cudaStream_t stream) {
#ifdef ANNOTATED
    streamsan_block_freed(block, stream == owner_[block] ? STREAMSAN_SAME_STREAM : stream);
#endif
    for (cudaStream_t other : other_streams_[block]) {
      cudaEvent_t used;
      must(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
      must(cudaEventRecord(used, other));
      uses_[block].push_back(used);
    }
    other_streams_.erase(block);
    cached_[stream].push_back(block);
  }

 private:
  char* arena_ = nullptr;
  std::size_t fresh_ = 0;
  std::map<cudaStream_t, std::vector<char*>> cached_;
  std::map<char*, cudaStream_t> owner_;
  std::map<char*, std::vector<cudaStream_t>> other_streams_;
  std::map<char*, std::vector<cudaEvent_t>> uses_;
};

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// Blocks with an event of their own, which who gives one back records and who is given one waits for, are written when
// they are free. Without that, what is given back by a call is what the next call gets.
#include <cuda_runtime.h>

#include <list>
#include <map>
#include <mutex>

struct Block {
  void* host = nullptr;
  cudaEvent_t done = nullptr;
};

class Blocks {
 public:
  Block* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      auto* block = new Block;
      cudaMallocHost(&block->host, 4096);
      cudaEventCreateWithFlags(&block->done, cudaEventDisableTiming);
      return block;
    }
    Block* block = free_.front();
    free_.pop_front();
    cudaEventSynchronize(block->done);
    return block;
  }
  void give_back(Block* block, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    cudaEventRecord(block->done, stream);
    free_.push_front(block);
  }

 private:
  std::mutex mutex_;
  std::list<Block*> free_;
};

void guarded(Blocks& blocks, float* device, int rounds, cudaStream_t stream) {
  for (int i = 0; i < rounds; ++i) {
    Block* block = blocks.take();
    static_cast<float*>(block->host)[0] = 1;
    cudaMemcpyAsync(device, block->host, 4096, cudaMemcpyHostToDevice, stream);
    blocks.give_back(block, stream);
  }
  cudaStreamSynchronize(stream);
}

// By size, in a map, and with nothing that waits.
class BySize {
 public:
  void* get(size_t bytes) {
    auto found = free_.lower_bound(bytes);
    if (found != free_.end()) {
      void* block = found->second;
      free_.erase(found);
      return block;
    }
    void* made = nullptr;
    cudaHostAlloc(&made, bytes, cudaHostAllocDefault);
    return made;
  }
  void put(void* block, size_t bytes) { free_.emplace(bytes, block); }

 private:
  std::multimap<size_t, void*> free_;
};

void upload(BySize& pool, float* device, float value, cudaStream_t stream) {
  auto* block = static_cast<float*>(pool.get(4096));
  block[0] = value;  // FIRES: host-write-before-done
  cudaMemcpyAsync(device, block, 4096, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  pool.put(block, 4096);
}

void upload_both(BySize& pool, float* device, cudaStream_t stream) {
  upload(pool, device, 1, stream);
  upload(pool, device + 1024, 2, stream);
  cudaStreamSynchronize(stream);
}

// A list that only owns what was made is no pool, and neither is one that is never given anything back.
class Owner {
 public:
  float* make() {
    float* made = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&made), 4096);
    all_.push_back(made);
    return all_.back();
  }

 private:
  std::list<float*> all_;
};

void made_anew(Owner& owner, float* device, cudaStream_t stream) {
  for (int i = 0; i < 4; ++i) {
    float* block = owner.make();
    block[0] = 1;
    cudaMemcpyAsync(device, block, 4096, cudaMemcpyHostToDevice, stream);
  }
  cudaStreamSynchronize(stream);
}

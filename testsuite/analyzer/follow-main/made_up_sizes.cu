// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done,premature-free %s
// RUN: %check cross-stream-race,host-write-before-done,premature-free %s -- -DFIXED
//
// No main(): how many pages there are is made up. A slot is evicted only where different pages outnumber the slots,
// and a pool that refuses what is larger than its slabs works only where the slabs are large enough.
#include <cuda_runtime.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <unordered_map>
#include <vector>

__global__ void draw(const float* page, float* image) { image[threadIdx.x] += page[threadIdx.x]; }

constexpr size_t kPage = 4096;

// Pages of a large picture on the device: the one that came first makes room for a new one.
class PageCache {
 public:
  explicit PageCache(int slots) {
    cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&render_, cudaStreamNonBlocking);
    cudaMallocHost(&staging_, kPage);
    cudaMalloc(&image_, kPage);
    slots_.resize(slots);
    for (Slot& slot : slots_) {
      cudaMalloc(&slot.page, kPage);
      cudaEventCreateWithFlags(&slot.filled, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&slot.drawn, cudaEventDisableTiming);
    }
  }
  void show(const std::vector<int>& pages) {
    for (const int page : pages) {
      Slot& slot = slot_of(page);
      cudaStreamWaitEvent(render_, slot.filled, 0);
      draw<<<1, 256, 0, render_>>>(slot.page, image_);
      cudaEventRecord(slot.drawn, render_);
    }
  }

 private:
  struct Slot {
    float* page = nullptr;
    cudaEvent_t filled = nullptr, drawn = nullptr;
  };

  Slot& slot_of(int page) {
    if (const auto found = where_.find(page); found != where_.end()) return slots_[found->second];
    size_t free = order_.size();
    if (free == slots_.size()) {
      free = where_[order_.front()];
      where_.erase(order_.front());
      order_.pop_front();
    }
    Slot& slot = slots_[free];
#ifdef FIXED
    cudaStreamWaitEvent(upload_, slot.drawn, 0);
#endif
    cudaMemcpyAsync(slot.page, staging_, kPage, cudaMemcpyHostToDevice, upload_);  // FIRES: cross-stream-race
    cudaEventRecord(slot.filled, upload_);
    where_[page] = free;
    order_.push_back(page);
    return slot;
  }

  cudaStream_t upload_ = nullptr, render_ = nullptr;
  float *staging_ = nullptr, *image_ = nullptr;
  std::vector<Slot> slots_;
  std::unordered_map<int, size_t> where_;
  std::deque<int> order_;
};

// Pinned slabs, all of one size, by number.
class SlabPool {
 public:
  explicit SlabPool(size_t slab_bytes) : slab_bytes_(slab_bytes) {}
  size_t take(size_t bytes) {
    if (bytes > slab_bytes_) throw std::length_error("larger than a slab");
    if (free_.empty()) {
      free_.push_back(slabs_.size());
      slabs_.push_back(nullptr);
      cudaMallocHost(&slabs_.back(), slab_bytes_);
    }
    const size_t number = free_.front();
    free_.pop_front();
    return number;
  }
  char* at(size_t number) { return slabs_[number]; }
  void give(size_t number) { free_.push_back(number); }

 private:
  size_t slab_bytes_;
  std::vector<char*> slabs_;
  std::deque<size_t> free_;
};

class Sender {
 public:
  explicit Sender(SlabPool& pool) : pool_(pool) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&device_, kPage);
  }
  void send(const std::vector<float>& rows) {
    const size_t bytes = rows.size() * sizeof(float);
    const size_t slab = pool_.take(bytes);
    std::memcpy(pool_.at(slab), rows.data(), bytes);  // FIRES: host-write-before-done
    cudaMemcpyAsync(device_, pool_.at(slab), bytes, cudaMemcpyHostToDevice, stream_);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    pool_.give(slab);
  }

 private:
  SlabPool& pool_;
  cudaStream_t stream_ = nullptr;
  char* device_ = nullptr;
};

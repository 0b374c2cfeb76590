// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// What a pool gives out next is the block that has just come back only if it holds no other: a queue that makes a block
// where it is empty holds none at first. One that its class fills, or that makes blocks until there are three, holds
// others, and the largest block of a priority queue is any.
#include <cuda_runtime.h>

#include <deque>
#include <map>
#include <queue>
#include <vector>

class Queue {
 public:
#ifdef FIXED
  Queue() { add(8); }
  void add(int blocks) {
    for (int i = 0; i < blocks; ++i) put(make());
  }
#endif
  float* take() {
    if (free_.empty()) return make();
    float* block = free_.front();
    free_.pop_front();
    return block;
  }
  void put(float* block) { free_.push_back(block); }

 private:
  static float* make() {
    float* made = nullptr;
    cudaMallocHost(&made, 4096);
    return made;
  }
  std::deque<float*> free_;
};

class UpToThree {
 public:
  float* take() {
    if (made_ < 3) {
      float* made = nullptr;
      cudaMallocHost(&made, 4096);
      ++made_;
      return made;
    }
    float* block = free_.front();
    free_.pop_front();
    return block;
  }
  void put(float* block) { free_.push_back(block); }

 private:
  int made_ = 0;
  std::deque<float*> free_;
};

class Growing {
 public:
  float* take() {
    if (free_.empty()) {
      float* made = nullptr;
      cudaMallocHost(&made, 4096);
      return made;
    }
    float* block = free_.front();
    free_.pop_front();
    return block;
  }
  void put(float* block) { free_.push_back(block); }

 private:
  std::deque<float*> free_;
};

template <class Pool>
void two_uploads(Pool& pool, float* device, cudaStream_t stream) {
  float* first = pool.take();
  first[0] = 1;
  cudaMemcpyAsync(device, first, 4096, cudaMemcpyHostToDevice, stream);
  pool.put(first);
  float* second = pool.take();
  second[0] = 2;
  cudaMemcpyAsync(device + 1024, second, 4096, cudaMemcpyHostToDevice, stream);
  pool.put(second);
  cudaStreamSynchronize(stream);
}

void filled(Queue& pool, float* device, cudaStream_t stream) {
  float* first = pool.take();
  cudaMemcpyAsync(device, first, 4096, cudaMemcpyHostToDevice, stream);
  pool.put(first);
  float* second = pool.take();
#ifdef FIXED
  second[0] = 2;
#else
  cudaStreamSynchronize(stream);
  second[0] = 2;
#endif
  cudaMemcpyAsync(device + 1024, second, 4096, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  pool.put(second);
}

void three_blocks(UpToThree& pool, float* device, cudaStream_t stream) { two_uploads(pool, device, stream); }

void made_where_empty(Growing& pool, float* device, cudaStream_t stream) {
  float* first = pool.take();
  first[0] = 1;
  cudaMemcpyAsync(device, first, 4096, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  pool.put(first);
  float* second = pool.take();
  second[0] = 2;  // FIRES: host-write-before-done
  cudaMemcpyAsync(device + 1024, second, 4096, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  pool.put(second);
}

struct Slab {
  float* data;
  size_t bytes;
  bool operator<(const Slab& other) const { return bytes < other.bytes; }
};

class Largest {
 public:
  Slab take() {
    if (free_.empty()) {
      Slab made{nullptr, 4096};
      cudaMallocHost(&made.data, made.bytes);
      return made;
    }
    Slab slab = free_.top();
    free_.pop();
    return slab;
  }
  void put(Slab slab) { free_.push(slab); }

 private:
  std::priority_queue<Slab> free_;
};

void small_and_large(Largest& pool, Slab small, float* device, cudaStream_t stream) {
  small.data[0] = 1;
  cudaMemcpyAsync(device, small.data, 1024, cudaMemcpyHostToDevice, stream);
  pool.put(small);
  Slab large = pool.take();
  large.data[0] = 2;
  cudaMemcpyAsync(device + 1024, large.data, 1024, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  pool.put(large);
}

// By size: what comes out is what went in under the same size.
class BySize {
 public:
  char* get(size_t bytes) {
    if (auto found = free_.find(bytes); found != free_.end()) {
      char* block = found->second;
      free_.erase(found);
      return block;
    }
    char* made = nullptr;
    cudaHostAlloc(&made, bytes, cudaHostAllocDefault);
    return made;
  }
  void put(char* block, size_t bytes) { free_.emplace(bytes, block); }

 private:
  std::multimap<size_t, char*> free_;
};

constexpr size_t kHeader = 256, kBody = 1 << 20;

void packet(BySize& pool, char* device, char value, cudaStream_t stream) {
  char* header = pool.get(kHeader);
  header[0] = value;
  cudaMemcpyAsync(device, header, kHeader, cudaMemcpyHostToDevice, stream);
  pool.put(header, kHeader);
  char* body = pool.get(kBody);
  body[0] = value;
  cudaMemcpyAsync(device + kHeader, body, kBody, cudaMemcpyHostToDevice, stream);
  pool.put(body, kBody);
  cudaStreamSynchronize(stream);
}

void two_headers(BySize& pool, char* device, cudaStream_t stream) {
  char* header = pool.get(kHeader);
  header[0] = 1;
  cudaMemcpyAsync(device, header, kHeader, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  pool.put(header, kHeader);
  char* next = pool.get(kHeader);
  next[0] = 2;  // FIRES: host-write-before-done
  cudaMemcpyAsync(device + kHeader, next, kHeader, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  pool.put(next, kHeader);
}

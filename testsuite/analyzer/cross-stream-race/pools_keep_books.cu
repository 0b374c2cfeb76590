// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DTWO_SIZES
//
// Pools that keep the size of each block in a map of blocks, and give it back under that size; that search their list;
// that take nodes out of it; whose blocks are given back by a deleter that knows the pool. FIXED waits before a block
// goes back; with TWO_SIZES it does not, and the two users need blocks of different sizes.
#include <cuda_runtime.h>

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

__global__ void pour(float* tank) { tank[threadIdx.x] = 1.0f; }
__global__ void drain(const float* tank, float* river) { river[threadIdx.x] += tank[threadIdx.x]; }

#ifdef TWO_SIZES
#define OTHER(size) (size) + 1
#else
#define OTHER(size) size
#endif

class Lanes {
 public:
  Lanes() {
    cudaStreamCreateWithFlags(&north_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&south_, cudaStreamNonBlocking);
  }

 protected:
  static void settle(cudaStream_t lane) {
#if defined(FIXED) && !defined(TWO_SIZES)
    cudaStreamSynchronize(lane);
#else
    (void)lane;
#endif
  }
  cudaStream_t north_, south_;
};

class Arena {
 public:
  void* take(std::size_t bytes) {
    auto fitting = free_.lower_bound(bytes);
    if (fitting != free_.end() && fitting->first <= 2 * bytes) {
      void* block = fitting->second;
      lent_[block] = fitting->first;
      free_.erase(fitting);
      return block;
    }
    void* block;
    cudaMalloc(&block, bytes);
    lent_[block] = bytes;
    return block;
  }
  void give(void* block) {
    auto known = lent_.find(block);
    free_.emplace(known->second, block);
    lent_.erase(known);
  }

 private:
  std::multimap<std::size_t, void*> free_;
  std::unordered_map<void*, std::size_t> lent_;
};

class Tiles : Lanes {
 public:
  void run(float* east, float* west, int size) {
    tile(east, size, north_);
    tile(west, OTHER(size), south_);
  }

 private:
  void tile(float* river, int size, cudaStream_t lane) {
    auto* tank = static_cast<float*>(arena_.take(size * sizeof(float)));
    pour<<<1, 64, 0, lane>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->south_' may write a block of 'this->arena_.free_[bytes]' while kernel 'drain' on stream 'this->north_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Tiles::tile' here
// CHECK-NOTES: :[[@LINE+8]]:5: note: a block of 'this->arena_.free_[bytes]' is read here, on stream 'this->north_'
// CHECK-NOTES: :[[@LINE-11]]:5: note: in the call to 'Tiles::tile' here
// CHECK-NOTES: :[[@LINE-56]]:5: note: stream 'this->north_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-56]]:5: note: stream 'this->south_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-38]]:21: note: a block of 'this->arena_.free_[bytes]' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'this->south_' after stream 'this->north_': record an event in stream 'this->north_' after the read and let stream 'this->south_' wait for it with cudaStreamWaitEvent before kernel 'pour'
// CHECK-NOTES: :[[@LINE-28]]:5: note: the block goes back to its pool here, which hands it out again without waiting
// CHECK-NOTES: :[[@LINE+3]]:5: note: in the call to 'Arena::give' here
    drain<<<1, 64, 0, lane>>>(tank, river);
    settle(lane);
    arena_.give(tank);
  }
  Arena arena_;
};

class Shelves {
 public:
  float* take(int size) {
    auto& shelf = free_[size];
    if (!shelf.empty()) {
      float* block = shelf.back();
      shelf.pop_back();
      return block;
    }
    float* block;
    cudaMalloc(&block, size * sizeof(float));
    sizes_[block] = size;
    return block;
  }
  void give(float* block) { free_[sizes_.at(block)].push_back(block); }

 private:
  std::unordered_map<int, std::vector<float*>> free_;
  std::unordered_map<float*, int> sizes_;
};

class Books : Lanes {
 public:
  void run(float* east, float* west, int size) {
    book(east, size, north_);
    book(west, OTHER(size), south_);
  }

 private:
  void book(float* river, int size, cudaStream_t lane) {
    float* tank = shelves_.take(size);
    pour<<<1, 64, 0, lane>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->south_' may write a block of 'this->shelves_.free_[size].second' while kernel 'drain' on stream 'this->north_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Books::book' here
// CHECK-NOTES: :[[@LINE+8]]:5: note: a block of 'this->shelves_.free_[size].second' is read here, on stream 'this->north_'
// CHECK-NOTES: :[[@LINE-11]]:5: note: in the call to 'Books::book' here
// CHECK-NOTES: :[[@LINE-105]]:5: note: stream 'this->north_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-105]]:5: note: stream 'this->south_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-33]]:22: note: a block of 'this->shelves_.free_[size].second' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'this->south_' after stream 'this->north_': record an event in stream 'this->north_' after the read and let stream 'this->south_' wait for it with cudaStreamWaitEvent before kernel 'pour'
// CHECK-NOTES: :[[@LINE-26]]:29: note: the block goes back to its pool here, which hands it out again without waiting
// CHECK-NOTES: :[[@LINE+3]]:5: note: in the call to 'Shelves::give' here
    drain<<<1, 64, 0, lane>>>(tank, river);
    settle(lane);
    shelves_.give(tank);
  }
  Shelves shelves_;
};

class Nodes {
 public:
  static Nodes& all() {
    static Nodes* nodes = new Nodes;
    return *nodes;
  }
  float* take(int size) {
    if (auto node = free_.extract(size)) return node.mapped();
    float* block = nullptr;
    cudaMalloc(&block, size * sizeof(float));
    return block;
  }
  void give(float* block, int size) { free_.insert({size, block}); }

 private:
  std::multimap<int, float*> free_;
};

class Trees : Lanes {
 public:
  void run(float* east, float* west, int size) {
    tree(east, size, north_);
    tree(west, OTHER(size), south_);
  }

 private:
  void tree(float* river, int size, cudaStream_t lane) {
    float* tank = Nodes::all().take(size);
    pour<<<1, 64, 0, lane>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->south_' may write a block of 'Nodes::all::nodes->free_[...]' while kernel 'drain' on stream 'this->north_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Trees::tree' here
// CHECK-NOTES: :[[@LINE+8]]:5: note: a block of 'Nodes::all::nodes->free_[...]' is read here, on stream 'this->north_'
// CHECK-NOTES: :[[@LINE-11]]:5: note: in the call to 'Trees::tree' here
// CHECK-NOTES: :[[@LINE-151]]:5: note: stream 'this->north_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-151]]:5: note: stream 'this->south_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-28]]:49: note: a block of 'Nodes::all::nodes->free_[...]' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'this->south_' after stream 'this->north_': record an event in stream 'this->north_' after the read and let stream 'this->south_' wait for it with cudaStreamWaitEvent before kernel 'pour'
// CHECK-NOTES: :[[@LINE-25]]:39: note: the block goes back to its pool here, which hands it out again without waiting
// CHECK-NOTES: :[[@LINE+3]]:5: note: in the call to 'Nodes::give' here
    drain<<<1, 64, 0, lane>>>(tank, river);
    settle(lane);
    Nodes::all().give(tank, size);
  }
};

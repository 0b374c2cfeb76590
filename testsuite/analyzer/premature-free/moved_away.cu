// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
//
// What was moved away is not freed by what is left: into a container, by std::exchange in a move constructor.
#include <cuda_runtime.h>
#include <deque>
#include <utility>
#include <vector>

__global__ void paint(float* p) { p[threadIdx.x] = 1.0f; }

class Block {
 public:
  Block(size_t bytes, cudaStream_t home) : home_(home) { cudaMallocAsync(&data_, bytes, home); }
  Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)), home_(other.home_) {}
  ~Block() {
    if (data_ != nullptr) cudaFreeAsync(data_, home_);
  }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t home_;
};

class Kept {
 public:
  void put(cudaStream_t home, cudaStream_t work) {
    Block block(1024, home);
    cudaStreamSynchronize(home);
    paint<<<1, 32, 0, work>>>(block.data());
    queue_.push_back(std::move(block));
  }
  void put_too(cudaStream_t home, cudaStream_t work) {
    Block block(1024, home);
    cudaStreamSynchronize(home);
    paint<<<1, 32, 0, work>>>(block.data());
    list_.push_back(std::move(block));
  }

 private:
  std::deque<Block> queue_;
  std::vector<Block> list_;
};

void pass_on(cudaStream_t s) {
  Block first(1024, s);
  paint<<<1, 32, 0, s>>>(first.data());
  Block second(std::move(first));
  paint<<<1, 32, 0, s>>>(second.data());
}

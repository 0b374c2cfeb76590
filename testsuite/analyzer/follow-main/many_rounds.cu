// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Long loops: one that only computes, which is not run to its end, and one that enqueues, whose conflict is in its
// ninth round. Virtual calls, exceptions that are caught, texts as keys.
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

__global__ void step(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x]; }

struct Stage {
  virtual ~Stage() = default;
  virtual void run(int round) = 0;
};

struct Ring : Stage {
  explicit Ring(int slots) {
    for (int i = 0; i < slots; ++i) {
      float* made = nullptr;
      cudaMalloc((void**)&made, 4096);
      slots_.push_back(made);
    }
    cudaMalloc((void**)&source_, 4096);
  }
  void run(int round) override {
    if (round < 0) throw std::out_of_range("round");
    const size_t slot = static_cast<size_t>(round) % slots_.size();
    if (round % 8 == 7) {
      step<<<1, 256, 0, streams_[round % 2]>>>(slots_[0], source_);
#ifdef FIXED
      cudaStreamSynchronize(streams_[round % 2]);
#endif
    } else {
      step<<<1, 256, 0, streams_[round % 2]>>>(slots_[slot], source_);  // FIRES: cross-stream-race
      cudaStreamSynchronize(streams_[round % 2]);
    }
  }
  cudaStream_t streams_[2];
  std::vector<float*> slots_;
  float* source_ = nullptr;
};

int main() {
  auto ring = std::make_unique<Ring>(8);
  for (cudaStream_t& stream : ring->streams_) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::unordered_map<int, std::unique_ptr<Stage>> stages;
  stages.emplace(3, std::move(ring));
  double sum = 0;
  for (long i = 0; i < 4'000'000'000; ++i) sum += static_cast<double>(i);
  try {
    stages.at(3)->run(-1);
  } catch (const std::exception&) {
    sum += 1;
  }
  for (int round = 0; round < 1000; ++round) stages.at(3)->run(round);
  cudaDeviceSynchronize();
  return sum > 0 ? 0 : 1;
}

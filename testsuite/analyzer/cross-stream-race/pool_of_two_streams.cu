// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Device memory goes back to an arena when the work on it is enqueued. In one stream that is right; here another stream
// still reads the block when its next user writes it.
#include <cuda_runtime.h>

#include <vector>

__global__ void fill(float* out, float value) { out[threadIdx.x] = value; }
__global__ void add(const float* in, float* sum) { sum[threadIdx.x] += in[threadIdx.x]; }

class Arena {
 public:
  float* take() {
    if (free_.empty()) {
      float* made = nullptr;
      cudaMalloc(&made, 1024);
      return made;
    }
    float* block = free_.back();
    free_.pop_back();
    return block;
  }
  void put(float* block) { free_.push_back(block); }

 private:
  std::vector<float*> free_;
};

class Scratch {
 public:
  explicit Scratch(Arena& arena) : arena_(arena), block_(arena.take()) {}
  ~Scratch() { arena_.put(block_); }
  float* get() const { return block_; }

 private:
  Arena& arena_;
  float* block_;
};

class Pipeline {
 public:
  Pipeline() {
    cudaStreamCreateWithFlags(&produce_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&consume_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&used_, cudaEventDisableTiming);
  }
  ~Pipeline() {
    cudaStreamSynchronize(produce_);
    cudaStreamSynchronize(consume_);
    cudaEventDestroy(used_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(consume_);
    cudaStreamDestroy(produce_);
  }

  void step(Arena& arena, float* sum, float value) {
    Scratch scratch(arena);
    fill<<<1, 256, 0, produce_>>>(scratch.get(), value);  // FIRES: cross-stream-race
    cudaEventRecord(ready_, produce_);
    cudaStreamWaitEvent(consume_, ready_, 0);
    add<<<1, 256, 0, consume_>>>(scratch.get(), sum);
#ifdef FIXED
    cudaEventRecord(used_, consume_);
    cudaStreamWaitEvent(produce_, used_, 0);
#endif
  }

  // One stream alone.
  void alone(Arena& arena, float* sum, float value) {
    Scratch scratch(arena);
    fill<<<1, 256, 0, consume_>>>(scratch.get(), value);
    add<<<1, 256, 0, consume_>>>(scratch.get(), sum);
  }

 private:
  cudaStream_t produce_ = nullptr, consume_ = nullptr;
  cudaEvent_t ready_ = nullptr, used_ = nullptr;
};

void run(Arena& arena, float* sum, int steps) {
  Pipeline pipeline;
  for (int i = 0; i < steps; ++i) pipeline.step(arena, sum, 1);
}

void run_alone(Arena& arena, float* sum, int steps) {
  Pipeline pipeline;
  for (int i = 0; i < steps; ++i) pipeline.alone(arena, sum, 1);
}

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

// A pool whose blocks have an event of their last use. It waits for that where a block comes out of the list, and what
// it makes when the list is empty needs no wait.
struct Box {
  float* memory = nullptr;
  cudaEvent_t last_use = nullptr;
};

class Guarded {
 public:
  Box* take(cudaStream_t stream) {
    if (!free_.empty()) {
      Box* box = free_.back();
      free_.pop_back();
      cudaStreamWaitEvent(stream, box->last_use, 0);
      return box;
    }
    Box* made = new Box;
    cudaMalloc(&made->memory, 1024);
    cudaEventCreateWithFlags(&made->last_use, cudaEventDisableTiming);
    return made;
  }
  void put(Box* box, cudaStream_t stream) {
    cudaEventRecord(box->last_use, stream);
    free_.push_back(box);
  }

 private:
  std::vector<Box*> free_;
};

void run_guarded(Guarded& pool, float* sum) {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (int i = 0; i < 8; ++i) {
    cudaStream_t stream = streams[i % 2];
    Box* box = pool.take(stream);
    fill<<<1, 256, 0, stream>>>(box->memory, 1);
    add<<<1, 256, 0, stream>>>(box->memory, sum + 256 * (i % 2));
    pool.put(box, stream);
  }
  for (cudaStream_t stream : streams) {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A captured copy keeps the address of a pinned block. Back in its pool, the block is given to the next user, and what
// that one writes is what each launch of the graph copies.
#include <cuda_runtime.h>

#include <vector>

class Staging {
 public:
  int* take() {
    if (free_.empty()) {
      int* made = nullptr;
      cudaMallocHost(reinterpret_cast<void**>(&made), 256);
      return made;
    }
    int* block = free_.back();
    free_.pop_back();
    return block;
  }
  void put(int* block) { free_.push_back(block); }

 private:
  std::vector<int*> free_;
};

class Step {
 public:
  void capture(Staging& pool, int* device, cudaStream_t stream) {
    int* table = pool.take();
    table[0] = 7;
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    cudaMemcpyAsync(device, table, 64, cudaMemcpyHostToDevice, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
#ifdef FIXED
    kept_ = table;
#else
    pool.put(table);
#endif
  }
  void feed(Staging& pool, int* device, int value, cudaStream_t stream) {
    int* block = pool.take();
    block[0] = value;  // FIRES: premature-free
    cudaMemcpyAsync(device, block, 64, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    pool.put(block);
  }
  void launch(cudaStream_t stream) { cudaGraphLaunch(exec_, stream); }

 private:
  cudaGraphExec_t exec_ = nullptr;
  int* kept_ = nullptr;
};

void decode(Staging& pool, int* table, int* input, int steps, cudaStream_t stream) {
  Step step;
  step.capture(pool, table, stream);
  for (int i = 0; i < steps; ++i) {
    step.feed(pool, input, i, stream);
    step.launch(stream);
  }
  cudaStreamSynchronize(stream);
}

// Captured anew for each launch.
void each_time(Staging& pool, int* table, int* input, int steps, cudaStream_t stream) {
  for (int i = 0; i < steps; ++i) {
    Step step;
    step.capture(pool, table, stream);
    step.launch(stream);
    cudaStreamSynchronize(stream);
  }
}

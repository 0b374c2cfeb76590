// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A graph copies from a pinned block of a pool, which gets the block back after the capture. The next object takes the
// same block for its own graph: from then on, each launch of the first graph copies what was written for the second.
#include <cuda_runtime.h>

#include <vector>

__global__ void equalize(const float* curve, float* sound) { sound[threadIdx.x] *= curve[threadIdx.x]; }

constexpr int kBands = 64;

class Pool {
 public:
  ~Pool() {
    for (float* block : idle_) cudaFreeHost(block);
  }
  float* take() {
    float* block = nullptr;
    if (idle_.empty()) {
      cudaMallocHost(&block, kBands * sizeof(float));
    } else {
      block = idle_.back();
      idle_.pop_back();
    }
    return block;
  }
  void give_back(float* block) { idle_.push_back(block); }

 private:
  std::vector<float*> idle_;
};

class Equalizer {
 public:
  Equalizer(Pool& pool, cudaStream_t stream, float loudness) : pool_(pool), stream_(stream) {
    cudaMalloc(&curve_, kBands * sizeof(float));
    cudaMalloc(&sound_, kBands * sizeof(float));
    block_ = pool_.take();
    for (int i = 0; i < kBands; ++i) block_[i] = loudness;
// CHECK-MESSAGES: :[[@LINE-1]]:48: warning: the host writes 'block_', which went back to its pool, but a graph that was captured with it lives on: cudaMemcpyAsync uses it at each launch [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:93: note: in the call to 'Equalizer' here
// CHECK-NOTES: :[[@LINE+43]]:42: note: in the call to 'Equalizer' here
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'block_' becomes part of the graph here
// CHECK-NOTES: :[[@LINE+41]]:15: note: in the call to 'Equalizer' here
// CHECK-NOTES: :[[@LINE-6]]:48: note: keep the block as long as the graph can be launched
// CHECK-NOTES: :[[@LINE+6]]:5: note: what is written here is for this copy
// CHECK-NOTES: :[[@LINE+24]]:17: note: the graph is launched here, and copies the same bytes
// CHECK-NOTES: :[[@LINE+39]]:13: note: in the call to 'play' here
// CHECK-NOTES: :[[@LINE-10]]:48: note: main() was followed to here, with zeros for what the GPU computes
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    cudaMemcpyAsync(curve_, block_, kBands * sizeof(float), cudaMemcpyHostToDevice, stream_);
    equalize<<<1, kBands, 0, stream_>>>(curve_, sound_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
#ifndef FIXED
    pool_.give_back(block_);
#endif
  }
  ~Equalizer() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
#ifdef FIXED
    pool_.give_back(block_);
#endif
    cudaFree(curve_);
    cudaFree(sound_);
  }
  Equalizer(const Equalizer&) = delete;
  void play() { cudaGraphLaunch(exec_, stream_); }

 private:
  Pool& pool_;
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  float *block_ = nullptr, *curve_ = nullptr, *sound_ = nullptr;
};

int main() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  {
    Pool pool;
    Equalizer voice(pool, stream, 0.5f), piano(pool, stream, 0.8f);
    for (int i = 0; i < 6; ++i) {
      voice.play();
      piano.play();
    }
    cudaStreamSynchronize(stream);
  }
  cudaStreamDestroy(stream);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// One function is run once and then captured. What it does under a condition is for the first run.
#include <cuda_runtime.h>

#include <vector>

__global__ void stage(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Pipeline {
 public:
  void warm_up(float* x, size_t n) { run(x, n, true); }

  bool record(float* x, size_t n, cudaGraph_t* graph) {
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal) != cudaSuccess) {
      run(x, n, true);
      cudaStreamSynchronize(stream_);
      return false;
    }
    run(x, n, false);
    return cudaStreamEndCapture(stream_, graph) == cudaSuccess;
  }

 private:
  static bool captured(cudaStream_t stream) {
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(stream, &status);
    return status == cudaStreamCaptureStatusActive;
  }

  float* scratch(size_t n) {
    for (Block& block : blocks_)
      if (block.size == n) return block.memory;
    Block block{n, nullptr};
    cudaMalloc(&block.memory, n);
    blocks_.push_back(block);
    return block.memory;
  }

  void run(float* x, size_t n, bool wait) {
    if (n > room_) {
      cudaFree(staging_);
      cudaMalloc(&staging_, n);
      room_ = n;
    }
    stage<<<1, 256, 0, stream_>>>(x, staging_);
    stage<<<1, 256, 0, stream_>>>(staging_, scratch(n));
    if (wait) cudaStreamSynchronize(stream_);
    if (!captured(stream_)) cudaDeviceSynchronize();
#ifndef FIXED
    cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaDeviceSynchronize is not allowed while stream 'this->stream_' is captured: it synchronises the device [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-33]]:5: note: in the call to 'Pipeline::run' here
// CHECK-NOTES: :[[@LINE-39]]:9: note: the capture begins here
// CHECK-NOTES: :[[@LINE-4]]:5: note: move it out of the capture; it would not be part of the graph
#endif
  }

  struct Block {
    size_t size;
    float* memory;
  };
  cudaStream_t stream_;
  std::vector<Block> blocks_;
  float* staging_ = nullptr;
  size_t room_ = 0;
};

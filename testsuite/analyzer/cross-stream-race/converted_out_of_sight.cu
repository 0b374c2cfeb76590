// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// make_unique() and emplace_back() pass on an object that wraps a stream; the constructor takes what it is converted to.
#include <cuda_runtime.h>

#include <memory>
#include <vector>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }

class Stream {
 public:
  Stream() { cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_{};
};

class Filler {
 public:
  Filler(float* out, cudaStream_t stream) : out_(out), stream_(stream) {}
  void run() { fill<<<1, 256, 0, stream_>>>(out_); }  // FIRES: cross-stream-race

 private:
  float* out_;
  cudaStream_t stream_;
};

void made(float* out) {
  Stream a, b;
  auto first = std::make_unique<Filler>(out, a);
#ifdef FIXED
  auto second = std::make_unique<Filler>(out, a);
#else
  auto second = std::make_unique<Filler>(out, b);
#endif
  first->run();
  second->run();
}

void put(float* out) {
  Stream a, b;
  std::vector<Filler> fillers;
  fillers.emplace_back(out, a);
#ifdef FIXED
  fillers.emplace_back(out, a);
#else
  fillers.emplace_back(out, b);
#endif
  fillers[0].run();
  fillers[1].run();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Wrappers behind std::shared_ptr, as frameworks pass them around.
#include <cuda_runtime.h>

#include <memory>

class Stream {
 public:
  Stream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t handle() const { return stream_; }
  void synchronize() { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_{};
};

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  auto a = std::make_shared<Stream>();
  auto b = std::make_shared<Stream>();
  produce<<<1, 256, 0, a->handle()>>>(data);
#ifdef FIXED
  a->synchronize();
#endif
  consume<<<1, 256, 0, b->handle()>>>(data, out);  // FIRES: cross-stream-race
  b->synchronize();
  a->synchronize();
}

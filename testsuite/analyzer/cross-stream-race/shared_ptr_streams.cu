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
  consume<<<1, 256, 0, b->handle()>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b->stream_' may read 'data' while kernel 'produce' on stream 'a->stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'a->stream_'
// CHECK-NOTES: :[[@LINE-22]]:14: note: stream 'a->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:12: note: in the call to 'Stream::Stream' here
// CHECK-NOTES: :[[@LINE-24]]:14: note: stream 'b->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:12: note: in the call to 'Stream::Stream' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'b->stream_' after stream 'a->stream_': record an event in stream 'a->stream_' after the write and let stream 'b->stream_' wait for it with cudaStreamWaitEvent before kernel 'consume'
  b->synchronize();
  a->synchronize();
}

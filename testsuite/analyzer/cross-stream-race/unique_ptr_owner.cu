// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams held by std::unique_ptr with a deleter.
#include <cuda_runtime.h>

#include <memory>

struct StreamDeleter {
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
};
using UniqueStream = std::unique_ptr<CUstream_st, StreamDeleter>;

UniqueStream make_stream() {
  cudaStream_t s = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  return UniqueStream(s);
}

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  UniqueStream a = make_stream();
  UniqueStream b = make_stream();
  produce<<<1, 256, 0, a.get()>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a.get());
#endif
  consume<<<1, 256, 0, b.get()>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-17]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:20: note: in the call to 'make_stream' here
// CHECK-NOTES: :[[@LINE-19]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:20: note: in the call to 'make_stream' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(b.get());
  cudaStreamSynchronize(a.get());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// opencv/opencv#18376, WS: the public function takes a stream, the primitive behind it works on the default stream.
#include <cuda_runtime.h>

class Stream {
 public:
  Stream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t handle() const { return stream_; }
  void wait() const { cudaStreamSynchronize(stream_); }

 private:
  cudaStream_t stream_;
};

__global__ void convert(const unsigned char* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void moments(const float* in, double* out) { out[0] = in[threadIdx.x]; }

namespace primitives {
static void mean_std(const float* in, double* out, cudaStream_t stream) {
  moments<<<1, 256, 0, stream>>>(in, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'moments' on the default stream may read 'converted' while kernel 'convert' on non-blocking stream 'stream.stream_' still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE+13]]:3: note: in the call to 'primitives::mean_std' here
// CHECK-NOTES: :[[@LINE+20]]:3: note: in the call to 'mean_std_dev' here
// CHECK-NOTES: :[[@LINE+18]]:3: note: 'converted' is written here, on stream 'stream.stream_'
// CHECK-NOTES: :[[@LINE-19]]:14: note: stream 'stream.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+15]]:10: note: in the call to 'Stream::Stream' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: the default stream does not wait for stream 'stream.stream_', which is non-blocking; record an event in stream 'stream.stream_' after the write and let the default stream wait for it with cudaStreamWaitEvent before kernel 'moments'
}
}  // namespace primitives

static void mean_std_dev(const float* in, double* out, const Stream& stream) {
#ifdef FIXED
  primitives::mean_std(in, out, stream.handle());
#else
  primitives::mean_std(in, out, nullptr);
  (void)stream;
#endif
}

void normalise(const unsigned char* image, float* converted, double* result) {
  Stream stream;
  convert<<<1, 256, 0, stream.handle()>>>(image, converted);
  mean_std_dev(converted, result, stream);
  stream.wait();
}

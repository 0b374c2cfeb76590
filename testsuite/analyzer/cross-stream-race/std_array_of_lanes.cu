// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A std::array constructs and destroys its elements: the lanes are streams of their own, and wait at their end.
#include <cuda_runtime.h>

#include <array>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Lane {
 public:
  Lane() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_{};
};

struct Lanes {
  Lane& next() { return all[turn++ % all.size()]; }
  std::array<Lane, 3> all;
  unsigned turn = 0;
};

void run(float* data, float* out) {
  Lane own;
#ifdef FIXED
  {
    Lanes lanes;
    produce<<<1, 256, 0, lanes.next().get()>>>(data);
  }
  consume<<<1, 256, 0, own.get()>>>(data, out);
#else
  Lanes lanes;
  produce<<<1, 256, 0, lanes.next().get()>>>(data);
  consume<<<1, 256, 0, own.get()>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'own.stream_' may read 'data' while kernel 'produce' on stream 'lanes.all[0].stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on stream 'lanes.all[0].stream_'
// CHECK-NOTES: :[[@LINE-32]]:12: note: stream 'lanes.all[0].stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:8: note: in the call to 'Lane::Lane' here
// CHECK-NOTES: :[[@LINE-7]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-35]]:12: note: stream 'own.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:8: note: in the call to 'Lane::Lane' here
// CHECK-NOTES: :[[@LINE-8]]:3: note: nothing orders stream 'own.stream_' after stream 'lanes.all[0].stream_': record an event in stream 'lanes.all[0].stream_' after the write and let stream 'own.stream_' wait for it with cudaStreamWaitEvent before kernel 'consume'
#endif
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A lambda is kept in a std::function and called by another method: it works on the memory that the method has just
// filled, on a stream that it has captured.
#include <cuda_runtime.h>

#include <functional>
#include <utility>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void halve(float* data) { data[threadIdx.x] *= 0.5f; }

namespace {

class Stage {
 public:
  Stage() { cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking); }
  ~Stage() { cudaStreamDestroy(own_); }
  void then(std::function<void(float*)> next) { next_ = std::move(next); }

  void run(float* data, cudaEvent_t done) {
    fill<<<1, 256, 0, own_>>>(data);
    cudaEventRecord(done, own_);
    if (next_) next_(data);
    cudaStreamSynchronize(own_);
  }

 private:
  cudaStream_t own_;
  std::function<void(float*)> next_;
};

}  // namespace

void work(float* data, cudaEvent_t done) {
  cudaStream_t after;
  cudaStreamCreateWithFlags(&after, cudaStreamNonBlocking);
  Stage stage;
  stage.then([after, done](float* filled) {
#ifdef FIXED
    cudaStreamWaitEvent(after, done, 0);
#else
    (void)done;
#endif
    halve<<<1, 256, 0, after>>>(filled);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'halve' on stream 'after' may update 'data' while kernel 'fill' on stream 'stage.own_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-23]]:16: note: in the call to 'lambda' here
// CHECK-NOTES: :[[@LINE-26]]:5: note: 'data' is written here, on stream 'stage.own_'
// CHECK-NOTES: :[[@LINE-26]]:5: note: event 'done' is recorded here, after the write, but stream 'after' does not wait for it
// CHECK-NOTES: :[[@LINE-33]]:13: note: stream 'stage.own_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:9: note: in the call to '(anonymous namespace)::Stage::Stage' here
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'after' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:5: note: let stream 'after' wait for event 'done' with cudaStreamWaitEvent before kernel 'halve'
// CHECK-NOTES: :[[@LINE+2]]:3: note: in the call to '(anonymous namespace)::Stage::run' here
  });
  stage.run(data, done);
  cudaStreamSynchronize(after);
  cudaStreamDestroy(after);
}

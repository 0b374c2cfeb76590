// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// A deleter that gets null destroys nothing, however often: owners that are filled later, or moved from.
#include <cuda_runtime.h>

#include <memory>

struct StreamDeleter {
  using pointer = cudaStream_t;
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;

class Lanes {
 public:
  Lanes() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    first_.reset(made);
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    second_.reset(made);
  }
  void clear(float* d) { cudaMemsetAsync(d, 0, 4, first_.get()); }

 private:
  Stream first_, second_;
};

void lanes(float* d) {
  Lanes lanes;
  lanes.clear(d);
}

void by_hand(float* d) {
  cudaStream_t made;
  cudaStreamCreate(&made);
#ifndef FIXED
  cudaStreamDestroy(made);
#endif
  cudaMemsetAsync(d, 0, 4, made);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'made' is used by cudaMemsetAsync after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'made' is destroyed here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'made' is created here
#ifdef FIXED
  cudaStreamDestroy(made);
#endif
}

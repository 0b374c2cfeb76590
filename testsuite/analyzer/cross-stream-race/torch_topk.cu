// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// An operation that returns a tuple writes new tensors, on the stream that is current then.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <tuple>

class Router {
 public:
  Router() : side_(c10::cuda::getStreamFromPool()) {}

  at::Tensor pick(const at::Tensor& logits) {
    ready_.record(c10::cuda::getCurrentCUDAStream());
    ready_.block(side_);
    auto [best, which] = top(logits);
#ifdef FIXED
    chosen_.record(side_);
    chosen_.block(c10::cuda::getCurrentCUDAStream());
#endif
    return at::softmax(best, 0).mul(which);
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: at::softmax on the current stream may read 'best' while at::topk on stream 'this->side_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+10]]:12: note: 'best' is written here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-8]]:26: note: in the call to 'Router::top' here
// CHECK-NOTES: :[[@LINE+8]]:12: note: 'best' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:12: note: nothing orders the current stream after stream 'this->side_': record an event in stream 'this->side_' after the write and let the current stream wait for it with cudaStreamWaitEvent before at::softmax
// CHECK-NOTES: :[[@LINE-12]]:5: note: the two are treated as two streams: one waits here for work of the other
  }

 private:
  std::tuple<at::Tensor, at::Tensor> top(const at::Tensor& logits) {
    c10::cuda::CUDAStreamGuard guard(side_);
    return at::topk(logits, 2);
  }

  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_, chosen_;
};

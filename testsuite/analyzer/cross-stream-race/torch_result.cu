// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// An operation writes the tensor that it returns, on the stream that is current then; the tensor is passed through two
// functions, and read in a list on another stream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

at::Tensor project(const at::Tensor& x, const at::Tensor& weight) { return at::matmul(x, weight); }

class Branch {
 public:
  Branch() : side_(c10::cuda::getStreamFromPool()) {}
  at::Tensor start(const at::Tensor& x) {
    fork_.record(c10::cuda::getCurrentCUDAStream());
    fork_.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor y = project(x, weight_);
    join_.record(side_);
    return y;
  }
  void finish(const at::Tensor& y) {
    join_.block(c10::cuda::getCurrentCUDAStream());
    y.record_stream(c10::cuda::getCurrentCUDAStream());
  }

 private:
  at::Tensor weight_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent fork_, join_;
};

at::Tensor both(Branch& branch, const at::Tensor& x) {
  at::Tensor left = branch.start(x);
#ifdef FIXED
  branch.finish(left);
#endif
  return at::cat({left, x}, 1);
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: at::cat on the current stream may read the same memory while at::matmul on stream 'branch.side_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-31]]:76: note: the same memory is written here, on stream 'branch.side_'
// CHECK-NOTES: :[[@LINE-23]]:20: note: in the call to 'project' here
// CHECK-NOTES: :[[@LINE-8]]:21: note: in the call to 'Branch::start' here
// CHECK-NOTES: :[[@LINE-24]]:5: note: event 'branch.join_' is recorded here, after the write, but the current stream does not wait for it
// CHECK-NOTES: :[[@LINE-6]]:10: note: let the current stream wait for event 'branch.join_' with cudaStreamWaitEvent before at::cat
// CHECK-NOTES: :[[@LINE-29]]:5: note: the two are treated as two streams: one waits here for work of the other
}

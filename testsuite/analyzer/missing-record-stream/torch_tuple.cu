// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor that leaves a function in a tuple is the tensor that was made there.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <tuple>
#include <utility>

class Loader {
 public:
  Loader() : side_(c10::cuda::getStreamFromPool()) {}
  std::tuple<at::Tensor, int64_t> load(const at::Tensor& raw) {
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor batch = at::matmul(raw, raw);
    ready_.record(side_);
    return {std::move(batch), 1};
  }
  void wait() { ready_.block(c10::cuda::getCurrentCUDAStream()); }

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_;
};

at::Tensor train(Loader& loader, const at::Tensor& raw, const at::Tensor& weight) {
  auto [batch, count] = loader.load(raw);
  loader.wait();
#ifdef FIXED
  batch.record_stream(c10::cuda::getCurrentCUDAStream());
#endif
  at::Tensor result = at::matmul(batch, weight);
  batch.reset();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'batch' is returned to the allocator, which may reuse it on the stream of 'batch', while at::matmul on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:23: note: tensor 'batch' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-21]]:24: note: 'batch' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:25: note: in the call to 'Loader::load' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'batch' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-20]]:17: note: the two are treated as two streams: one waits here for work of the other
// CHECK-NOTES: :[[@LINE-12]]:3: note: in the call to 'Loader::wait' here
  return result;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DREPLACED
//
// A list of tensors is read by what it is given to: what was put into it last as well, unless an element was replaced.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <vector>

class Heads {
 public:
  Heads() : side_(c10::cuda::getStreamFromPool()) {}

  at::Tensor run(const at::Tensor& x, const at::Tensor& left, const at::Tensor& right) {
    std::vector<at::Tensor> parts;
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream());
    ready.block(side_);
    {
      c10::cuda::CUDAStreamGuard guard(side_);
      parts.push_back(at::matmul(x, left));
      parts.push_back(at::matmul(x, right));
    }
#if defined(REPLACED)
    for (at::Tensor& part : parts) part = at::zeros({64}, at::kCUDA);
#elif defined(FIXED)
    at::cuda::CUDAEvent done;
    done.record(side_);
    done.block(c10::cuda::getCurrentCUDAStream());
#endif
    return at::cat(parts, 1);
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: at::cat on the current stream may read 'parts' while at::matmul on the current stream still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-11]]:23: note: 'parts' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-12]]:23: note: 'parts' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:12: note: nothing orders the stream of at::cat after the stream of at::matmul: record an event in the stream of at::matmul after the write and let the stream of at::cat wait for it with cudaStreamWaitEvent before at::cat
// CHECK-NOTES: :[[@LINE-18]]:5: note: the two are treated as two streams: one waits here for work of the other
  }

 private:
  c10::cuda::CUDAStream side_;
};

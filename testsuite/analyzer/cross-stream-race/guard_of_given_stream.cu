// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DJOINED
//
// A guard of the stream that a class was given does not say that another one was current before. A wait of the one for
// the other does.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Work {
 public:
  explicit Work(c10::cuda::CUDAStream stream) : stream_(stream) {}

  at::Tensor run(const at::Tensor& x) {
#if defined(JOINED) || !defined(FIXED)
    ready_.record(c10::cuda::getCurrentCUDAStream());
    ready_.block(stream_);
#endif
    at::Tensor twice;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      twice = x.mul(2);
    }
#ifdef JOINED
    done_.record(stream_);
    done_.block(c10::cuda::getCurrentCUDAStream());
#endif
    return at::relu(twice);
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: at::relu on the current stream may read 'twice' while at::Tensor::mul on the current stream still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:15: note: 'twice' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-9]]:15: note: 'twice' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:12: note: nothing orders the stream of at::relu after the stream of at::Tensor::mul: record an event in the stream of at::Tensor::mul after the write and let the stream of at::relu wait for it with cudaStreamWaitEvent before at::relu
// CHECK-NOTES: :[[@LINE-16]]:5: note: the two are treated as two streams: one waits here for work of the other
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent ready_, done_;
};

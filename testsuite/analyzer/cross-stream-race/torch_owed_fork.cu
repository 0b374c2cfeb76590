// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DMOVED_IN
//
// Tensors are ready on the stream that is current when a function is entered. One that works on them on a stream of
// its own has to let it wait. What is copied in may be on the host, where nothing has to be waited for.
#if defined(FIXED) && !defined(MOVED_IN)
#define ALONE
#endif
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Scaler {
 public:
  Scaler() : side_(c10::cuda::getStreamFromPool()) {}

  void scale(const at::Tensor& grad, const at::Tensor& out) {
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream();
    {
      c10::cuda::CUDAStreamGuard guard(side_);
#ifdef ALONE
      begin_.record(caller);
#else
      begin_.record();
#endif
      begin_.block(side_);
#ifdef MOVED_IN
      out.copy_(grad, /*non_blocking=*/true);
#else
      out.add_(grad.mul(2));
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: at::Tensor::add_ on stream 'this->side_' may read 'out' before it is written: what 'Scaler::scale' is given is ready on the current stream, which stream 'this->side_' does not wait for [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-15]]:8: note: work that was enqueued on the current stream before this function may still run
// CHECK-NOTES: :[[@LINE+6]]:5: note: the current stream waits here for stream 'this->side_': the way back is there
// CHECK-NOTES: :[[@LINE-4]]:7: note: record an event in the current stream and let stream 'this->side_' wait for it with cudaStreamWaitEvent before at::Tensor::add_
// CHECK-NOTES: :[[@LINE+4]]:5: note: the two are treated as two streams: one waits here for work of the other
#endif
      end_.record(side_);
    }
    end_.block(caller);
  }

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent begin_, end_;
};

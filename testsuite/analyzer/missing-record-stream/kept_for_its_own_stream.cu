// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor is taken over and copied on the class's own stream; record_stream() names the current stream, which does not
// need it. Twins: for the right stream; for the current stream, which has waited for the copy; and where a copy of the
// tensor is left to somebody.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Store {
 public:
  Store() : stream_(c10::cuda::getStreamFromPool()) {}

  void push(at::Tensor value) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent ready;
    ready.record(current);
    ready.block(stream_);
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      host_.copy_(value, /*non_blocking=*/true);
    }
#ifdef FIXED
    value.record_stream(stream_);
#else
    value.record_stream(current);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'value' is returned to the allocator, which may reuse it on the current stream, while at::Tensor::copy_ on stream 'this->stream_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-7]]:7: note: tensor 'value' is read here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-3]]:5: note: call record_stream(this->stream_) on the tensor after its last use there, or let the current stream wait for stream 'this->stream_' before the tensor is released
// CHECK-NOTES: :[[@LINE-4]]:5: note: the tensor is kept here for the current stream alone, and so it is expected to end
// CHECK-NOTES: :[[@LINE-13]]:5: note: the two are treated as two streams: one waits here for work of the other
#endif
  }

  void push_and_wait(at::Tensor value) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent ready, done;
    ready.record(current);
    ready.block(stream_);
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      host_.copy_(value, /*non_blocking=*/true);
    }
    done.record(stream_);
    done.block(current);
    value.record_stream(current);
  }

  void push_and_keep(at::Tensor value) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent ready;
    ready.record(current);
    ready.block(stream_);
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      host_.copy_(value, /*non_blocking=*/true);
    }
    value.record_stream(current);
    kept_ = value;
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::Tensor host_, kept_;
};

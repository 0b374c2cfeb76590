// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
// RUN: %check missing-record-stream %s -- -DFIXED -DGIVEN
//
// contiguous() of what was made just now is of the stream that was current then. Of a tensor that was given it may be
// that tensor, which its owner keeps, or a copy on the side stream, whose end is in the order of the work there.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

__global__ void decode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Decoder {
 public:
  Decoder() : side_(c10::cuda::getStreamFromPool()) {}

  void run(const at::Tensor& given, at::Tensor& out) {
    auto caller = c10::cuda::getCurrentCUDAStream();
    c10::cuda::CUDAStreamGuard guard(side_);
#ifdef GIVEN
    at::Tensor rows = given.contiguous();
#else
    at::Tensor rows = given.mul(2).contiguous();
#endif
    made_.record(side_);
    made_.block(caller);
#ifdef FIXED
    decode<<<1, 64, 0, side_>>>(rows.const_data_ptr<float>(), out.mutable_data_ptr<float>());
#else
    decode<<<1, 64, 0, caller>>>(rows.const_data_ptr<float>(), out.mutable_data_ptr<float>());
#endif
    done_.record(side_);
    done_.block(caller);
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while kernel 'decode' on stream 'caller' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:5: note: tensor 'rows' is read here, on stream 'caller'
// CHECK-NOTES: :[[@LINE-3]]:3: note: call record_stream(caller) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'caller' before the tensor is released
// CHECK-NOTES: :[[@LINE-12]]:5: note: the two are treated as two streams: one waits here for work of the other

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent made_, done_;
};

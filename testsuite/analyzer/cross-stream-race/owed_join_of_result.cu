// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A tensor that is made and returned is used on the current stream, which has to wait for the side stream that fills it.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void quantize(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

struct Quantizer {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();

  at::Tensor run(at::Tensor in) {
    at::Tensor result = at::empty_like(in);
    at::cuda::CUDAEvent fork;
    fork.record();
    fork.block(side);
    quantize<<<1, 256, 0, side.stream()>>>(in.data_ptr<float>(), result.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'quantize' on stream 'this->side' may still write 'result' when 'Quantizer::run' has returned: nothing lets the current stream wait for it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:5: note: stream 'this->side' waits here for the current stream: the way there is there
// CHECK-NOTES: :[[@LINE-8]]:14: note: work that is enqueued on the current stream after this function does not wait
// CHECK-NOTES: :[[@LINE-4]]:5: note: record an event in stream 'this->side' after kernel 'quantize' and let the current stream wait for it with cudaStreamWaitEvent before 'Quantizer::run' returns
// CHECK-NOTES: :[[@LINE-6]]:5: note: the two are treated as two streams: one waits here for work of the other
    in.record_stream(side);
    result.record_stream(side);
#ifdef FIXED
    at::cuda::CUDAEvent join;
    join.record(side);
    join.block(c10::cuda::getCurrentCUDAStream());
#endif
    return result;
  }
};

// Not returned: nobody reads it.
struct Dropper {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();

  void run(at::Tensor in) {
    at::Tensor scratch = at::empty_like(in);
    at::cuda::CUDAEvent fork;
    fork.record();
    fork.block(side);
    quantize<<<1, 256, 0, side.stream()>>>(in.data_ptr<float>(), scratch.data_ptr<float>());
    in.record_stream(side);
    scratch.record_stream(side);
  }
};

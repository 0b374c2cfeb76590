// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A variable that is a view of a tensor, or may be one, ends before that tensor does: the block ends with the tensor.
// Silent where the view outlives it, or somebody else keeps the view.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

#include <functional>

__global__ void sift(const float* sand, float* gold) { gold[threadIdx.x] = sand[threadIdx.x]; }

class Mine {
 public:
  Mine() : side_(c10::cuda::getStreamFromPool()) {}

  void a_view(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor part = sand.view({64}).narrow(0, 0, 32);
    sift<<<1, 64, 0, side_>>>(part.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
#ifdef FIXED
    sand.record_stream(side_);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'sand' is returned to the allocator, which may reuse it on the stream of 'sand', while kernel 'sift' on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-6]]:5: note: tensor 'sand' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE+58]]:23: note: 'sand' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:23: note: in the call to 'Mine::begin' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'sand' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+57]]:5: note: the two are treated as two streams: one waits here for work of the other

  void a_copy_perhaps(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor dry = sand.contiguous();
    sift<<<1, 64, 0, side_>>>(dry.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
#ifdef FIXED
    sand.record_stream(side_);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'sand' is returned to the allocator, which may reuse it on the stream of 'sand', while at::Tensor::contiguous on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-7]]:22: note: tensor 'sand' is read here, on the current stream
// CHECK-NOTES: :[[@LINE+42]]:23: note: 'sand' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:23: note: in the call to 'Mine::begin' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'sand' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE+41]]:5: note: the two are treated as two streams: one waits here for work of the other

  // Who has the view in the end keeps the block.
  at::Tensor returned(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor dry = sand.contiguous();
    sift<<<1, 64, 0, side_>>>(dry.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
    return dry;
  }

  void kept(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor dry = sand.view({64});
    sift<<<1, 64, 0, side_>>>(dry.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
    kept_ = dry;
  }

  void captured(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor dry = sand.view({64});
    sift<<<1, 64, 0, side_>>>(dry.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
    later_ = [dry] { (void)dry; };
  }

  void outlives(const at::Tensor& given, at::Tensor& gold) {
    at::Tensor sand = begin(given);
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor dry = sand.view({64});
    sift<<<1, 64, 0, side_>>>(dry.const_data_ptr<float>(), gold.mutable_data_ptr<float>());
    sand = given.mul(3);
    done_.record(side_);
    done_.block(c10::cuda::getDefaultCUDAStream());
  }

 private:
  at::Tensor begin(const at::Tensor& given) {
    at::Tensor sand = given.mul(2);
    made_.record(c10::cuda::getCurrentCUDAStream());
    made_.block(side_);
    return sand;
  }

  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent made_, done_;
  at::Tensor kept_;
  std::function<void()> later_;
};

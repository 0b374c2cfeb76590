// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// Each round of the loop gets what the round before has loaded: only of the first one is it known for certain where it
// was made.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <optional>
#include <utility>

struct Sample {
  at::Tensor flux;
  at::Tensor weight;
};

class Loader {
 public:
  explicit Loader(const Sample& host) : host_(host), side_(c10::cuda::getStreamFromPool()) { load(); }

  std::optional<Sample> next() {
    auto here = c10::cuda::getCurrentCUDAStream();
    there_.block(here);
    std::optional<Sample> out = std::exchange(ahead_, std::nullopt);
    if (out) {
#ifdef FIXED
      out->flux.record_stream(here);
      out->weight.record_stream(here);
#endif
      load();
    }
    return out;
  }

 private:
  void load() {
    c10::cuda::CUDAStreamGuard guard(side_);
    Sample sample;
    sample.flux = host_.flux.to(at::kCUDA, /*non_blocking=*/true);
    sample.weight = host_.weight.to(at::kCUDA, /*non_blocking=*/true);
    there_.record(side_);
    ahead_ = std::move(sample);
  }

  const Sample& host_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent there_;
  std::optional<Sample> ahead_;
};

void fit(const Sample& host, at::Tensor& total) {
  Loader loader(host);
  while (auto sample = loader.next()) {
    total.add_(sample->flux);
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'sample' is returned to the allocator, which may reuse it on the stream of 'sample', while at::Tensor::add_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:5: note: tensor 'sample' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-19]]:19: note: 'sample' is allocated here
// CHECK-NOTES: :[[@LINE-40]]:94: note: in the call to 'Loader::load' here
// CHECK-NOTES: :[[@LINE-8]]:10: note: in the call to 'Loader::Loader' here
// CHECK-NOTES: :[[@LINE-6]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'sample' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-39]]:5: note: analysed for the case that the loop has 3 rounds
}

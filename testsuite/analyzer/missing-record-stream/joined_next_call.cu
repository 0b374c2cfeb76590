// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// What the side stream allocates is used by the caller's stream and ends with the call. Nothing else is allocated on the
// side stream before the next call, which begins with a wait for the caller's stream: not reported by default.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <optional>
#include <tuple>

struct Routed {
  at::Tensor weights;
  std::optional<at::Tensor> bias;
};

class Experts {
 public:
  Experts() : side_(c10::cuda::getStreamFromPool()) {}

  at::Tensor forward(const at::Tensor& x, const at::Tensor& gate) {
    auto current = c10::cuda::getCurrentCUDAStream();
#ifdef FIXED
    fork_.record(current);
    fork_.block(side_);
#endif
    Routed routed;
    {
      c10::cuda::CUDAStreamGuard guard(side_);
      routed.weights = at::matmul(gate, gate);
      done_.record(side_);
    }
    done_.block(current);
    return at::matmul(x, routed.weights);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'routed.weights' is returned to the allocator, which may reuse it on the stream of 'routed.weights', while at::matmul on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:12: note: tensor 'routed.weights' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-7]]:24: note: 'routed.weights' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'routed.weights' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-6]]:5: note: the two are treated as two streams: one waits here for work of the other
  }

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent fork_, done_;
};

class Offload {
 public:
  Offload() : side_(c10::cuda::getStreamFromPool()) {}

  void store(const at::Tensor& x, at::Tensor& host) {
    auto current = c10::cuda::getCurrentCUDAStream();
#ifdef FIXED
    copied_.block(current);
#endif
    at::Tensor half = x.to(at::kHalf);
    ready_.record(current);
    ready_.block(side_);
    {
      c10::cuda::CUDAStreamGuard guard(side_);
      host.copy_(half, /*non_blocking=*/true);
    }
    copied_.record(side_);
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'half' is returned to the allocator, which may reuse it on the stream of 'half', while at::Tensor::copy_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-5]]:7: note: tensor 'half' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-4]]:5: note: event 'this->copied_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-12]]:23: note: 'half' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'half' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-12]]:5: note: the two are treated as two streams: one waits here for work of the other

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_, copied_;
};

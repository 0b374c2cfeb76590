// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// An object forks where it is made and joins where it ends. What is allocated under it is of the side stream, and ends
// while the caller's stream uses it; the side stream begins its next turn with the wait for that. In a loop all turns but
// the first may begin with the wait.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <vector>

class Fork {
 public:
  explicit Fork(c10::cuda::CUDAStream side) : side_(side), main_(c10::cuda::getCurrentCUDAStream()), guard_(side) {
#ifdef FIXED
    begin_.record(main_);
    begin_.block(side_);
#endif
  }
  ~Fork() {
    end_.record(side_);
    end_.block(main_);
  }

 private:
  c10::cuda::CUDAStream side_, main_;
  at::cuda::CUDAEvent begin_, end_;
  c10::cuda::CUDAStreamGuard guard_;
};

class Layer {
 public:
  Layer() : side_(c10::cuda::getStreamFromPool()) {}

  at::Tensor attend(const at::Tensor& query, const at::Tensor& keys) {
    at::Tensor scores;
    {
      at::Tensor scaled = query.mul(0.5);
      Fork fork(side_);
      scores = at::matmul(scaled, keys);
    }
    return at::softmax(scores, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'scores' is returned to the allocator, which may reuse it on the stream of 'scores', while at::softmax on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:12: note: tensor 'scores' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-5]]:16: note: 'scores' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'scores' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-25]]:5: note: the two are treated as two streams: one waits here for work of the other
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'fork' goes out of scope here
  }

 private:
  c10::cuda::CUDAStream side_;
};

class Offload {
 public:
  Offload() : copies_(c10::cuda::getStreamFromPool()) {}

  void store(const std::vector<at::Tensor>& gradients, std::vector<at::Tensor>& host) {
    auto current = c10::cuda::getCurrentCUDAStream();
    for (size_t i = 0; i < gradients.size(); ++i) {
#ifdef FIXED
      if (i > 0) copied_.block(current);
#endif
      at::Tensor half = gradients[i].to(at::kHalf);
      ready_.record(current);
      ready_.block(copies_);
      {
        c10::cuda::CUDAStreamGuard guard(copies_);
        host[i].copy_(half, /*non_blocking=*/true);
      }
      copied_.record(copies_);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'half' is returned to the allocator, which may reuse it on the stream of 'half', while at::Tensor::copy_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-5]]:9: note: tensor 'half' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-4]]:7: note: event 'this->copied_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-12]]:25: note: 'half' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'half' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-12]]:7: note: the two are treated as two streams: one waits here for work of the other
    copied_.synchronize();
  }

 private:
  c10::cuda::CUDAStream copies_;
  at::cuda::CUDAEvent ready_, copied_;
};

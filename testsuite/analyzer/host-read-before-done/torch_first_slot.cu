// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely
//
// The rows of a pinned tensor are written one by one, on the stream; when they are summed up, the first one is read.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Losses {
 public:
  explicit Losses(long room)
      : room_(room), rows_(at::empty({room}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true))) {}

  float add(const at::Tensor& loss) {
    rows_.select(0, next_).copy_(loss, /*non_blocking=*/true);
    ++next_;
    return next_ == room_ ? mean() : 0.0f;
  }

 private:
  float mean() {
#ifdef FIXED
    c10::cuda::getCurrentCUDAStream().synchronize();
#endif
    const float* row = rows_.data_ptr<float>();
    float total = row[0];
// CHECK-MESSAGES: :[[@LINE-1]]:19: warning: the host may read 'losses.rows_' while at::Tensor::copy_ on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-11]]:29: note: in the call to 'Losses::mean' here
// CHECK-NOTES: :[[@LINE-14]]:5: note: 'losses.rows_' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-18]]:28: note: 'losses.rows_' is allocated here
// CHECK-NOTES: :[[@LINE+14]]:10: note: in the call to 'Losses::Losses' here
// CHECK-NOTES: :[[@LINE-6]]:19: note: wait for the current stream with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE+14]]:44: note: in the call to 'Losses::add' here
    for (long i = 1; i < next_; ++i) total += row[i];
    total /= next_;
    next_ = 0;
    return total;
  }

  long room_, next_ = 0;
  at::Tensor rows_;
};

float train(const at::Tensor& loss, long steps) {
  Losses losses(16);
  float last = 0;
  for (long i = 0; i < steps; ++i) last += losses.add(loss);
  c10::cuda::getCurrentCUDAStream().synchronize();
  return last;
}

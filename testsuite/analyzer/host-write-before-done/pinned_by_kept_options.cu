// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// That a tensor is pinned is said by options that are kept in a variable, or in a member that a constructor sets.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

void by_variable(at::Tensor device, int rounds) {
#ifdef FIXED
  const auto options = at::TensorOptions().dtype(at::kInt).device(at::kCPU);
#else
  const auto options = at::TensorOptions().dtype(at::kInt).device(at::kCPU).pinned_memory(true);
#endif
  at::Tensor host = at::empty({64}, options);
  for (int round = 0; round < rounds; ++round) {
    int* numbers = host.data_ptr<int>();
    numbers[0] = round;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'numbers' while at::Tensor::copy_ on the current stream, in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+3]]:5: note: 'numbers' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-6]]:21: note: 'numbers' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for the current stream with cudaStreamSynchronize before the write
    device.copy_(host, /*non_blocking=*/true);
  }
}

class Steps {
 public:
  explicit Steps(int count)
      : options_(at::TensorOptions().dtype(at::kInt).pinned_memory(true)),
        host_(at::empty({count}, options_)),
        device_(at::empty({count}, at::kCUDA)) {}

  void push(int step) {
#ifdef FIXED
    c10::cuda::getCurrentCUDAStream().synchronize();
#endif
    host_.data_ptr<int>()[0] = step;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'steps.host_' while at::Tensor::copy_ on the current stream, in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+4]]:5: note: 'steps.host_' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-10]]:15: note: 'steps.host_' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for the current stream with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE+10]]:44: note: in the call to 'Steps::push' here
    device_.copy_(host_, /*non_blocking=*/true);
  }

 private:
  at::TensorOptions options_;
  at::Tensor host_, device_;
};

void walk(Steps& steps, int count) {
  for (int step = 0; step < count; ++step) steps.push(step);
}

// One constructor says so, the other does not: nothing is known.
class Either {
 public:
  Either() : options_(at::TensorOptions().pinned_memory(true)), host_(at::empty({64}, options_)) {}
  explicit Either(int) : options_(at::TensorOptions().dtype(at::kInt)), host_(at::empty({64}, options_)) {}

  void push(at::Tensor device, int step) {
    host_.data_ptr<int>()[0] = step;
    device.copy_(host_, /*non_blocking=*/true);
  }

 private:
  at::TensorOptions options_;
  at::Tensor host_;
};

void either(Either& steps, at::Tensor device, int count) {
  for (int step = 0; step < count; ++step) steps.push(device, step);
}

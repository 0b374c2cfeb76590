// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// to(kCPU, non_blocking) gives a pinned tensor back before it is filled. to(kCPU) waits.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <vector>

std::vector<float> head(const at::Tensor& device) {
  at::Tensor host = device.to(at::TensorOptions().device(at::kCPU), /*non_blocking=*/true);
#ifdef FIXED
  c10::cuda::getCurrentCUDAStream().synchronize();
#endif
  std::vector<float> result;
  result.push_back(host.data_ptr<float>()[0]);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'host' while at::Tensor::to on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:21: note: 'host' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:21: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for the current stream with cudaStreamSynchronize before the read
  return result;
}

float waits(const at::Tensor& device) {
  at::Tensor host = device.to(at::kCPU);
  return host.data_ptr<float>()[0];
}

at::Tensor unread(const at::Tensor& device) { return device.to(at::kCPU, /*non_blocking=*/true); }

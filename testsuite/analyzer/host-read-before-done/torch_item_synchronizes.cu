// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
//
// item() and cpu() wait by themselves: silent.
#include <torch/torch.h>

float loss(const at::Tensor& prediction, const at::Tensor& target) {
  at::Tensor difference = prediction.mul(target).sum();
  return difference.item<float>();
}

float first(const at::Tensor& device) {
  at::Tensor host = device.cpu();
  return host.data_ptr<float>()[0];
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A non-blocking copy to pinned memory, read through data_ptr() on the host.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

float first(const at::Tensor& device) {
  at::Tensor host = at::empty_like(device, at::TensorOptions().device(at::kCPU).pinned_memory(true));
  host.copy_(device, /*non_blocking=*/true);
#ifdef FIXED
  c10::cuda::getCurrentCUDAStream().synchronize();
#endif
  return host.data_ptr<float>()[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'host' while at::Tensor::copy_ on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:21: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for the current stream with cudaStreamSynchronize before the read
}

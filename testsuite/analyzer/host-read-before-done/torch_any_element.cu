// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A tensor that to() makes is written whole, so whichever element the host reads is.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

long most(const at::Tensor& counts, long from, long to) {
  at::Tensor host = counts.to(at::kCPU, /*non_blocking=*/true);
#ifdef FIXED
  c10::cuda::getCurrentCUDAStream().synchronize();
#endif
  auto number = host.accessor<long, 1>();
  long result = 0;
  for (long i = from; i < to; ++i) result += number[i];
// CHECK-MESSAGES: :[[@LINE-1]]:46: warning: the host may read 'number' while at::Tensor::to on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-8]]:21: note: 'number' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-9]]:21: note: 'number' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:46: note: wait for the current stream with cudaStreamSynchronize before the read
  return result;
}

// Half of a tensor that was there before: it may be the other half.
long unread(const at::Tensor& counts, long at) {
  at::Tensor host = at::empty({2, 64}, at::TensorOptions().dtype(at::kLong).pinned_memory(true));
  host.narrow(0, 0, 1).copy_(counts, /*non_blocking=*/true);
  return host.data_ptr<long>()[at];
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A loop over c10::irange() waits for nothing.
#include <c10/cuda/CUDAStream.h>
#include <c10/util/irange.h>
#include <torch/torch.h>

long first(const at::Tensor& counts, long* seen, long n) {
  at::Tensor host = at::empty({64}, at::TensorOptions().dtype(at::kLong).pinned_memory(true));
  host.copy_(counts, /*non_blocking=*/true);
  for (const auto i : c10::irange(n)) seen[i] = 0;
#ifdef FIXED
  c10::cuda::getCurrentCUDAStream().synchronize();
#endif
  return host.data_ptr<long>()[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'host' while at::Tensor::copy_ on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'host' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-9]]:21: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for the current stream with cudaStreamSynchronize before the read
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// RUN: %check host-read-before-done %s -- -DFIXED -DWAITS
//
// A copy that does not wait is read by the host behind a record that nobody waits for. A conversion of the type on the
// way waits for nothing; one that goes to the host does.
#if defined(FIXED) && !defined(WAITS)
#define ALONE
#endif
#include <ATen/cuda/CUDAEvent.h>
#include <torch/torch.h>

int first(const at::Tensor& counts, const at::Tensor& pinned) {
  at::cuda::CUDAEvent copied;
  at::Tensor exact = counts.mul(2);
  pinned.copy_(exact, /*non_blocking=*/true);
  copied.record();
#ifdef ALONE
  copied.synchronize();
#endif
#ifdef WAITS
  at::Tensor again = exact.to(at::kCPU);
#else
  at::Tensor again = exact.to(at::kInt);
#endif
  const int* values = pinned.data_ptr<int>();
  return values[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'values' while at::Tensor::copy_ on the current stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'values' is written here, on the current stream
// CHECK-NOTES: :[[@LINE-13]]:3: note: event 'copied' is recorded here, after the write, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for event 'copied' with cudaEventSynchronize, or for all of the current stream with cudaStreamSynchronize, before the read
}

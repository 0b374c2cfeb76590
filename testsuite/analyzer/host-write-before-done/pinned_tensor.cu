// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
// RUN: %check host-write-before-done %s -- -DFIXED -DPAGEABLE
//
// A pinned tensor that is a member is refilled through an accessor while the copy of the step before may read it. Out of
// pageable memory such a copy is staged today before the call returns: that is no more than latent.
#include <ATen/cuda/CUDAEvent.h>
#include <torch/torch.h>

class Metadata {
 public:
  Metadata()
#ifdef PAGEABLE
      : host_(at::empty({2, 64}, at::TensorOptions().dtype(at::kInt).device(at::kCPU))),
#else
      : host_(at::empty({2, 64}, at::TensorOptions().dtype(at::kInt).pinned_memory(true))),
#endif
        device_(at::empty({2, 64}, at::kCUDA)) {
  }

  void build(int length) {
#if defined(FIXED) && !defined(PAGEABLE)
    copied_.synchronize();
#endif
    auto rows = host_.accessor<int, 2>();
    for (int i = 0; i < 64; ++i) rows[0][i] = length + i;
// CHECK-MESSAGES: :[[@LINE-1]]:34: warning: the host may write 'metadata.host_' while at::Tensor::copy_ on the current stream, in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+4]]:5: note: 'metadata.host_' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-13]]:15: note: 'metadata.host_' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:34: note: wait for the current stream with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE+12]]:44: note: in the call to 'Metadata::build' here
    device_.copy_(host_, /*non_blocking=*/true);
    copied_.record();
  }

 private:
  at::Tensor host_;
  at::Tensor device_;
  at::cuda::CUDAEvent copied_;
};

void decode(Metadata& metadata, int steps) {
  for (int step = 0; step < steps; ++step) metadata.build(step);
}

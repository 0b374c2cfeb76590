// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely
//
// copy_() of a tensor copies all of its block, so whichever element the host writes is being read. Of a part of a
// tensor that is not known.
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

class Table {
 public:
  Table() : host_(at::empty({64, 16}, at::TensorOptions().dtype(at::kLong).pinned_memory(true))) {}

  void update(at::Tensor& device, const long* rows, const long* values, long count) {
    long* table = host_.data_ptr<long>();
    for (long i = 0; i < count; ++i) table[rows[i]] = values[i];
// CHECK-MESSAGES: :[[@LINE-1]]:38: warning: the host may write 'table.host_' while at::Tensor::copy_ on the current stream, in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+5]]:5: note: 'table.host_' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-7]]:19: note: 'table.host_' is allocated here
// CHECK-NOTES: :[[@LINE+14]]:9: note: in the call to 'Table::Table' here
// CHECK-NOTES: :[[@LINE-5]]:38: note: wait for the current stream with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE+13]]:40: note: in the call to 'Table::update' here
    device.copy_(host_, /*non_blocking=*/true);
#ifdef FIXED
    c10::cuda::getCurrentCUDAStream().synchronize();
#endif
  }

 private:
  at::Tensor host_;
};

void run(at::Tensor& device, const long* rows, const long* values, long count) {
  Table table;
  for (int step = 0; step < 8; ++step) table.update(device, rows, values, count);
  c10::cuda::getCurrentCUDAStream().synchronize();
}

// One half is written while the other one is copied.
class Halves {
 public:
  Halves() : host_(at::empty({2, 64}, at::TensorOptions().dtype(at::kLong).pinned_memory(true))) {}

  void update(at::Tensor& device, long at, long value) {
    at::Tensor half = host_.narrow(0, 0, 1);
    device.copy_(half, /*non_blocking=*/true);
    host_.data_ptr<long>()[at] = value;
    c10::cuda::getCurrentCUDAStream().synchronize();
  }

 private:
  at::Tensor host_;
};

void run(at::Tensor& device, long at, long value) {
  Halves halves;
  for (int step = 0; step < 8; ++step) halves.update(device, at, value);
}

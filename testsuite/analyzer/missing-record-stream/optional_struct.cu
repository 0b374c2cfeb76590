// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// Two tensors in a struct, which waits in a std::optional until it is moved out: they end with the struct, where its
// scope is left, and not where the compiler's destructor stands.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <optional>
#include <utility>

struct Shard {
  at::Tensor keys;
  at::Tensor values;
  int64_t number = 0;
};

class Mailbox {
 public:
  Mailbox() : wire_(c10::cuda::getStreamFromPool()) {}

  void fetch(const at::Tensor& keys, const at::Tensor& values) {
    c10::cuda::CUDAStreamGuard guard(wire_);
    Shard shard;
    shard.keys = keys.to(at::kCUDA, /*non_blocking=*/true);
    shard.values = values.to(at::kCUDA, /*non_blocking=*/true);
    waiting_ = std::move(shard);
    there_.record(wire_);
  }

  Shard open() {
    auto here = c10::cuda::getCurrentCUDAStream();
    there_.block(here);
    Shard shard = std::move(*waiting_);
    waiting_.reset();
#ifdef FIXED
    shard.keys.record_stream(here);
    shard.values.record_stream(here);
#else
    shard.keys.record_stream(wire_);
    shard.values.record_stream(wire_);
#endif
    return shard;
  }

 private:
  c10::cuda::CUDAStream wire_;
  at::cuda::CUDAEvent there_;
  std::optional<Shard> waiting_;
};

at::Tensor attend(Mailbox& box, const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values) {
  box.fetch(keys, values);
  Shard shard = box.open();
  return at::matmul(query, shard.keys);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'shard.keys' is returned to the allocator, which may reuse it on the stream of 'shard.keys', while at::matmul on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:10: note: tensor 'shard.keys' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-33]]:18: note: 'shard.keys' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: in the call to 'Mailbox::fetch' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'shard.keys' wait for the current stream before the tensor is released
// CHECK-NOTES: :[[@LINE-28]]:5: note: the two are treated as two streams: one waits here for work of the other
// CHECK-NOTES: :[[@LINE-8]]:17: note: in the call to 'Mailbox::open' here
}

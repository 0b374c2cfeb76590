// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A view that is kept keeps the block of its tensor, which ends: in a member, an optional, a vector, by a function that
// takes it by value, or in the tensor itself. So does what may be a view, and a list of views.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <optional>
#include <utility>
#include <vector>

#ifdef FIXED
#define KEPT(rows, x) rows
#else
#define KEPT(rows, x) x
#endif

class Reader {
 public:
  Reader() : side_(c10::cuda::getStreamFromPool()) {}

  void in_a_member(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      member_ = KEPT(rows, x).view({64});
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+120]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+119]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+113]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void in_an_optional(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      optional_ = KEPT(rows, x).narrow(0, 0, 4);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+103]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+102]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+96]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void in_a_vector(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      list_.push_back(KEPT(rows, x)[0]);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+86]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+85]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+79]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void by_value(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      keep(KEPT(rows, x).view({64}));
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+69]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+68]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+62]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void perhaps_a_view(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      member_ = KEPT(rows, x).contiguous();
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+52]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+51]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+45]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void list_of_views(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      list_ = KEPT(rows, x).chunk(2);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+35]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+34]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-8]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+28]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

  void in_itself(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    {
      at::Tensor rows = x.mul(2);
      use(rows, out, current);
      rows = rows.view({64});
#ifdef FIXED
      member_ = rows;
#endif
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+15]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-8]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+14]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-11]]:25: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+8]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, out, current);
  }

 private:
  void keep(at::Tensor rows) { list_.push_back(std::move(rows)); }
  void use(const at::Tensor& rows, at::Tensor& out, c10::cuda::CUDAStream current) {
    ready_.record(current);
    ready_.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    out.add_(rows);
    done_.record(side_);
  }
  void go_on(const at::Tensor& x, at::Tensor& out, c10::cuda::CUDAStream current) {
    at::Tensor next = x.mul(4);
    done_.block(current);
    out.add_(next);
  }

  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_, done_;
  at::Tensor member_;
  std::optional<at::Tensor> optional_;
  std::vector<at::Tensor> list_;
};

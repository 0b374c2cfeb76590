// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// What a helper makes ends where the variable ends that it is given to. A view that a helper returns, of a tensor that
// it is given, does not end the block: the tensor goes on.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <utility>

#ifdef FIXED
#define SOURCE(whole, x) whole
#else
#define SOURCE(whole, x) x.mul(3)
#endif

struct Halves {
  at::Tensor low, high;
};

class Reader {
 public:
  Reader() : side_(c10::cuda::getStreamFromPool()) {}

  void returned(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      at::Tensor rows = first(whole, x);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+79]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+78]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE+65]]:96: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:25: note: in the call to 'Reader::first' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+71]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, whole, out, current);
  }

  void by_a_variable(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      at::Tensor rows = named(whole, x);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+61]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+60]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE+49]]:48: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:25: note: in the call to 'Reader::named' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+53]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, whole, out, current);
  }

  void by_a_parameter(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      at::Tensor rows;
      give(whole, x, rows);
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+42]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+41]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE+33]]:107: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:7: note: in the call to 'Reader::give' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+34]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, whole, out, current);
  }

  void by_a_struct(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      Halves halves;
      halves.low = first(whole, x);
      Halves taken = std::move(halves);
      use(taken.low, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'taken.low' is returned to the allocator, which may reuse it on the stream of 'taken.low', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+22]]:5: note: tensor 'taken.low' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+21]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE+8]]:96: note: 'taken.low' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:20: note: in the call to 'Reader::first' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'taken.low' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+14]]:5: note: the two are treated as two streams: one waits here for work of the other
    go_on(x, whole, out, current);
  }

 private:
  static at::Tensor first(const at::Tensor& whole, const at::Tensor& x) { return SOURCE(whole, x).narrow(0, 0, 4); }
  static at::Tensor named(const at::Tensor& whole, const at::Tensor& x) {
    at::Tensor rows = at::narrow(SOURCE(whole, x), 0, 0, 4);
    return rows;
  }
  static void give(const at::Tensor& whole, const at::Tensor& x, at::Tensor& rows) { rows = SOURCE(whole, x).view({64}); }

  void use(const at::Tensor& rows, at::Tensor& out, c10::cuda::CUDAStream current) {
    ready_.record(current);
    ready_.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    out.add_(rows);
    done_.record(side_);
  }
  void go_on(const at::Tensor& x, const at::Tensor& whole, at::Tensor& out, c10::cuda::CUDAStream current) {
    at::Tensor next = x.mul(4);
    done_.block(current);
    out.add_(next).add_(whole);
  }

  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_, done_;
};

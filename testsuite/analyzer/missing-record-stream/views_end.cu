// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A view of a tensor that has a name may be moved into a struct, an optional, a tuple or a variable: the block does not
// end with it, but with the tensor.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <optional>
#include <tuple>

#ifdef FIXED
#define SOURCE whole.view({64})
#else
#define SOURCE x.mul(3)
#endif

struct Page {
  at::Tensor rows;
};

class Reader {
 public:
  Reader() : side_(c10::cuda::getStreamFromPool()) {}

  void in_a_struct(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      Page page;
      page.rows = SOURCE;
      use(page.rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'page.rows' is returned to the allocator, which may reuse it on the stream of 'page.rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+55]]:5: note: tensor 'page.rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+54]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-7]]:19: note: 'page.rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'page.rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+48]]:5: note: the two are treated as two streams: one waits here for work of the other
    at::Tensor next = x.mul(4);
    done_.block(current);
    out.add_(next).add_(whole);
  }

  void in_an_optional(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      std::optional<at::Tensor> rows = SOURCE;
      use(*rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+36]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+35]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-7]]:40: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+29]]:5: note: the two are treated as two streams: one waits here for work of the other
    at::Tensor next = x.mul(4);
    done_.block(current);
    out.add_(next).add_(whole);
  }

  void in_a_variable(const at::Tensor& x, at::Tensor& out) {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor whole = x.mul(2);
    {
      at::Tensor rows;
      rows = SOURCE;
      use(rows, out, current);
    }
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::Tensor::add_ on stream 'this->side_' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE+16]]:5: note: tensor 'rows' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE-4]]:7: note: in the call to 'Reader::use' here
// CHECK-NOTES: :[[@LINE+15]]:5: note: event 'this->done_' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-7]]:14: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: call record_stream(this->side_) on the tensor after its last use there, or let the stream of 'rows' wait for stream 'this->side_' before the tensor is released
// CHECK-NOTES: :[[@LINE+9]]:5: note: the two are treated as two streams: one waits here for work of the other
    at::Tensor next = x.mul(4);
    done_.block(current);
    out.add_(next).add_(whole);
  }

 private:
  void use(const at::Tensor& rows, at::Tensor& out, c10::cuda::CUDAStream current) {
    ready_.record(current);
    ready_.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    out.add_(rows);
    done_.record(side_);
  }

  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_, done_;
};

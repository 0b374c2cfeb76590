// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A tensor may end while another stream uses it, if the stream that its block goes back to waits for that use before it
// allocates: in the same block of code, in a destructor that runs after the tensor's, at the begin of a loop's next turn.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

struct Pair {
  at::Tensor a, b;
};

void in_a_line(const at::Tensor& x, at::Tensor& out) {
  auto current = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  {
    Pair pair;
    pair.a = x.mul(2);
    fork.record(current);
    fork.block(side);
    c10::cuda::CUDAStreamGuard guard(side);
    out.add_(pair.a);
    join.record(side);
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'pair.a' is returned to the allocator, which may reuse it on the stream of 'pair.a', while at::Tensor::add_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-4]]:5: note: tensor 'pair.a' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-4]]:5: note: event 'join' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-14]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:14: note: 'pair.a' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'pair.a' wait for the current stream before the tensor is released
#ifdef FIXED
  join.block(current);
#endif
  at::Tensor next = at::zeros({64}, at::kCUDA);
  join.block(current);
  out.add_(next);
}

#ifdef FIXED
class Joined {
 public:
  Joined(c10::cuda::CUDAStream current, c10::cuda::CUDAStream side) : current_(current), side_(side) {}
  ~Joined() {
    join_.record(side_);
    join_.block(current_);
  }

 private:
  c10::cuda::CUDAStream current_, side_;
  at::cuda::CUDAEvent join_;
};
#else
class Joined {
 public:
  Joined(c10::cuda::CUDAStream current, c10::cuda::CUDAStream side) : current_(current), side_(side) {}
  ~Joined() { join_.record(side_); }

 private:
  c10::cuda::CUDAStream current_, side_;
  at::cuda::CUDAEvent join_;
};
#endif

void by_an_object(const at::Tensor& x, at::Tensor& out) {
  auto current = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  Joined joined(current, side);
  at::Tensor twice = x.mul(2);
  at::cuda::CUDAEvent fork;
  fork.record(current);
  fork.block(side);
  c10::cuda::CUDAStreamGuard guard(side);
  out.add_(twice);
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'twice' is returned to the allocator, which may reuse it on the stream of 'twice', while at::Tensor::add_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-3]]:3: note: tensor 'twice' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-11]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:22: note: 'twice' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:1: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'twice' wait for the current stream before the tensor is released

void in_turns(const at::Tensor& x, at::Tensor& out, int n) {
  auto current = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  join.record(side);
  for (int i = 0; i < n; ++i) {
#ifdef FIXED
    join.block(current);
#endif
    at::Tensor twice = x.mul(2);
    fork.record(current);
    fork.block(side);
    {
      c10::cuda::CUDAStreamGuard guard(side);
      out.add_(twice);
    }
    join.record(side);
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'twice' is returned to the allocator, which may reuse it on the stream of 'twice', while at::Tensor::add_ on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-5]]:7: note: tensor 'twice' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-4]]:5: note: event 'join' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE-19]]:15: note: the current stream is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:24: note: 'twice' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'twice' wait for the current stream before the tensor is released
  join.block(current);
}

void drop(const at::Tensor& x, at::Tensor& out, c10::cuda::CUDAStream current, c10::cuda::CUDAStream side,
          at::cuda::CUDAEvent& join) {
  at::cuda::CUDAEvent fork;
  at::Tensor twice = x.mul(2);
  fork.record(current);
  fork.block(side);
  c10::cuda::CUDAStreamGuard guard(side);
  out.add_(twice);
  join.record(side);
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: memory of tensor 'twice' is returned to the allocator, which may reuse it on the current stream, while at::Tensor::add_ on stream 'side' still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-4]]:3: note: tensor 'twice' is read here, on stream 'side'
// CHECK-NOTES: :[[@LINE-4]]:3: note: event 'join' is recorded here, after the read, but the host does not wait for it
// CHECK-NOTES: :[[@LINE+7]]:15: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:22: note: 'twice' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:1: note: call record_stream(side) on the tensor after its last use there, or let the current stream wait for stream 'side' before the tensor is released
// CHECK-NOTES: :[[@LINE+6]]:3: note: in the call to 'drop' here

void by_the_caller(const at::Tensor& x, at::Tensor& out) {
  auto current = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent join;
  drop(x, out, current, side, join);
#ifdef FIXED
  join.block(current);
#endif
  at::Tensor next = at::zeros({64}, at::kCUDA);
  out.add_(next);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir %s -- %mock -DFIXED | %filecheck %s
//
// What a module makes known is called by others, whoever calls it in the file. And what something is divided by is not 0,
// also where it is passed on: "chunk" may say which one.
#include <torch/whole.h>

#include <map>

__global__ void partial(const float* x, float* sums, int n) {
  if (threadIdx.x < n) sums[threadIdx.x] = x[threadIdx.x];
}
__global__ void total(const float* sums, float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] += sums[threadIdx.x];
}

at::Tensor sums_for(const at::Tensor& like, int64_t count, cudaStream_t stream) {
#ifdef FIXED
  static std::map<std::pair<int64_t, cudaStream_t>, at::Tensor> cache;
  at::Tensor& kept = cache[{count, stream}];
#else
  static std::map<int64_t, at::Tensor> cache;
  at::Tensor& kept = cache[count];
#endif
  if (!kept.defined()) kept = at::empty({count}, like.options());
  return kept;
}

// CHECK: (void)::prefix(
// CHECK: (void)::both(
at::Tensor prefix(const at::Tensor& x, int64_t chunk) {
  const int64_t chunks = (x.numel() + chunk - 1) / chunk;
  at::Tensor out = at::empty({chunks}, x.options());
  const at::cuda::CUDAStream stream = at::cuda::getCurrentCUDAStream();
  at::Tensor sums = sums_for(x, chunks, stream);
  partial<<<1, 64, 0, stream>>>(x.data_ptr<float>(), sums.data_ptr<float>(), 64);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'partial' on stream 'side' may write 'kept' while kernel 'total' on a stream of the caller's still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+22]]:9: note: in the call to 'prefix' here
// CHECK-NOTES: :[[@LINE+8]]:3: note: 'kept' is read here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE+16]]:18: note: in the call to 'prefix' here
// CHECK-NOTES: :[[@LINE+13]]:8: note: an event is recorded here, before the read: a wait for it does not cover the read
// CHECK-NOTES: :[[@LINE+10]]:78: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:31: note: 'kept' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:21: note: in the call to 'sums_for' here
// CHECK-NOTES: :[[@LINE-9]]:3: note: record an event in a stream of the caller's after the read, before stream 'side' waits for it
// CHECK-NOTES: :[[@LINE-10]]:3: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
  total<<<1, 64, 0, stream>>>(sums.data_ptr<float>(), out.data_ptr<float>(), 64);
  return out;
}

void both(const at::Tensor& left, const at::Tensor& right, int64_t chunk) {
  const at::cuda::CUDAStream main = at::cuda::getCurrentCUDAStream(), side = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);
  at::Tensor l = prefix(left, chunk);
  at::Tensor r;
  {
    const c10::cuda::CUDAStreamGuard guard(side);
    r = prefix(right, chunk);
  }
  join.record(side);
  join.block(main);
  r.record_stream(main);
  l.add_(r);
}

// Of the file alone, though a lambda of the module calls it, too: both do with parts that do not meet.
static void halves(float* out, int64_t left, int64_t right, cudaStream_t one, cudaStream_t other) {
  partial<<<1, 64, 0, one>>>(out, out, static_cast<int>(left));
  partial<<<1, 64, 0, other>>>(out + left, out + left, static_cast<int>(right));
}

PYBIND11_MODULE(energy, module) {
  module.def("halves", [](at::Tensor& out) { halves(out.data_ptr<float>(), 32, 32, nullptr, nullptr); });
  module.def("prefix", &prefix);
  module.def("both", &both);
}

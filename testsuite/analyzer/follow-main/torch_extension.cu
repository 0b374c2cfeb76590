// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,missing-record-stream %s
// RUN: %check cross-stream-race,missing-record-stream %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir %s -- %mock -DFIXED | %filecheck %s
//
// Functions of an extension are followed with tensors that are made up, down to the operators: streams and tensors are in
// containers, by numbers that only a run knows. TORCH_CHECK tells what the tensors must be.
#include <torch/whole.h>

#include <map>

__global__ void scale(float* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= 2.0f;
}

struct Lanes {
  Lanes() {
    for (int i = 0; i < 2; ++i) lanes.emplace(i, at::cuda::getStreamFromPool());
  }
  std::map<int, at::cuda::CUDAStream> lanes;
};

// CHECK: streamsan_given_tensor(0)
// CHECK: (void)::sum_of_halves(
// CHECK: {{^}}  to its end
at::Tensor sum_of_halves(const at::Tensor& x, int64_t lane) {
  TORCH_CHECK(x.dim() == 3);
  TORCH_CHECK(x.scalar_type() == at::kInt);
  Lanes own;
  const at::cuda::CUDAStream side = own.lanes.at(lane % 2), current = at::cuda::getCurrentCUDAStream();
  std::map<int, at::Tensor> parts;
  for (int i = 0; i < 2; ++i) parts[i] = at::zeros({64, 64}, x.options());
  at::cuda::CUDAEvent zeroed, added;
  zeroed.record(current);
  zeroed.block(side);
  {
    const c10::cuda::CUDAStreamGuard guard(side);
    parts[lane % 2].add_(x.select(0, 1));
    parts[lane % 2].record_stream(side);
  }
#ifdef FIXED
  added.record(side);
  added.block(current);
#else
  added.record(current);
  added.block(side);
#endif
  return parts[0].mul(parts[1]);  // FIRES: cross-stream-race
}

// CHECK: (void)::apart(
// CHECK: {{^}}  to its end
void apart(at::Tensor& x, int64_t lane) {
  Lanes own;
  const at::cuda::CUDAStream side = own.lanes.at(lane % 2), current = at::cuda::getCurrentCUDAStream();
  std::map<int, at::Tensor> scratch;
  scratch[0] = at::empty({64}, x.options());
  at::cuda::CUDAEvent ready;
  ready.record(current);
  ready.block(side);
  scale<<<1, 64, 0, side>>>(scratch[0].data_ptr<float>(), 64);
#ifdef FIXED
  scratch[0].record_stream(side);
#endif
  scratch.clear();  // FIRES: missing-record-stream
  x.add_(x);
}

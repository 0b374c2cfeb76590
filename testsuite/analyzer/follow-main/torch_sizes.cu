// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// An operator that is written for points of three coordinates refuses all others: a made-up tensor has them, whoever asks, and whatever
// its name is where the operator is called.
#include <torch/whole.h>

#include <vector>

__global__ void forces(const float* points, const float* boxes, float* out, long count) {
  const long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = points[3 * i] + boxes[4 * i];
}

void check(const at::Tensor& point, const at::Tensor& boxes) {
  TORCH_CHECK(point.is_cuda() && boxes.is_cuda(), "both on the device");
  TORCH_CHECK(point.dim() == 2 && point.size(1) == 3, "points have three coordinates");
  TORCH_CHECK(4 == boxes.size(-1), "boxes have four");
}

at::Tensor act(const at::Tensor& point, const at::Tensor& boxes) {
  check(point, boxes);
  at::Tensor out = at::empty({point.size(0)}, point.options());
#ifdef FIXED
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
#else
  const cudaStream_t stream = at::cuda::getDefaultCUDAStream();
#endif
  forces<<<1, 64, 0, stream>>>(point.data_ptr<float>(), boxes.data_ptr<float>(), out.data_ptr<float>(), out.numel());  // FIRES: nonblocking-vs-default
  return out;
}

void relax(const std::vector<at::Tensor>& points, const at::Tensor& cells) {
  for (const at::Tensor& point : points) {
    const auto side = at::cuda::getStreamFromPool();
    at::cuda::CUDAEvent ready, done;
    ready.record(at::cuda::getCurrentCUDAStream());
    ready.block(side);
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      at::Tensor moved = point.mul(point);
      moved.add_(act(moved, cells));  // FIRES: nonblocking-vs-default
    }
    done.record(side);
    done.block(at::cuda::getCurrentCUDAStream());
  }
}

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace voxels {
namespace {

constexpr int kThreads = 256;

__device__ inline void atomic_max_positive(float* addr, float value) {
  // Features are not negative, so the order of the bit patterns is that of the values.
  atomicMax(reinterpret_cast<int*>(addr), __float_as_int(value));
}

__global__ void voxel_max_kernel(
    const float* __restrict__ feat,
    const int64_t* __restrict__ voxel,
    float* __restrict__ out,
    int64_t points,
    int64_t channels) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= points * channels)
    return;
  const int64_t p = i / channels;
  const int64_t c = i % channels;
  atomic_max_positive(&out[voxel[p] * channels + c], feat[i]);
}

} // namespace

at::Tensor voxel_max(const at::Tensor& feat, const at::Tensor& voxel, int64_t num_voxels) {
  TORCH_CHECK(feat.is_cuda() && feat.scalar_type() == at::kFloat, "float CUDA features expected");
  TORCH_CHECK(voxel.scalar_type() == at::kLong, "int64 voxel ids expected");
  const c10::cuda::CUDAGuard device_guard(feat.device());
  const at::Tensor f = at::relu(feat).contiguous();
  const at::Tensor v = voxel.contiguous();
  at::Tensor out = at::zeros({num_voxels, f.size(1)}, f.options());

  const int64_t total = f.numel();
  if (total == 0)
    return out;
  const int64_t blocks = (total + kThreads - 1) / kThreads;
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  (void)stream;
  voxel_max_kernel<<<blocks, kThreads>>>(
      f.const_data_ptr<float>(), v.const_data_ptr<int64_t>(), out.mutable_data_ptr<float>(), f.size(0), f.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// Pools a coarse level on a side stream while the caller works on the fine one.
at::Tensor coarse_level(const at::Tensor& feat, const at::Tensor& voxel, int64_t num_voxels, int64_t shift) {
  auto caller = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent begin, end;
  begin.record(caller);
  begin.block(side);
  at::Tensor pooled;
  {
    c10::cuda::CUDAStreamGuard guard(side);
    pooled = voxel_max(feat, voxel.bitwise_right_shift(shift), num_voxels >> shift);
    pooled = pooled / pooled.amax(1, true).clamp_min(1e-6);
  }
  end.record(side);
  end.block(caller);
  pooled.record_stream(caller);
  return pooled;
}

} // namespace voxels

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

namespace voxel_ops {
namespace {

constexpr int kBlock = 256;

inline int gridFor(int64_t n) { return static_cast<int>((n + kBlock - 1) / kBlock); }

__global__ void linearIndex(const float* xyz, int64_t n, float inv, int res, int64_t* index) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  int64_t id = 0;
  for (int a = 0; a < 3; ++a) {
    int c = static_cast<int>(floorf(xyz[i * 3 + a] * inv));
    id = id * res + min(max(c, 0), res - 1);
  }
  index[i] = id;
}

__global__ void scatterDensity(const int64_t* index, const float* feat, int64_t n, float* grid) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) atomicAdd(&grid[index[i]], feat[i]);
}

__global__ void countPoints(const int64_t* index, int64_t n, int* count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) atomicAdd(&count[index[i]], 1);
}

at::Tensor voxelIndices(const at::Tensor& xyz, double voxel, int res) {
  auto index = at::empty({xyz.size(0)}, xyz.options().dtype(at::kLong));
  auto stream = at::cuda::getCurrentCUDAStream();
  linearIndex<<<gridFor(xyz.size(0)), kBlock, 0, stream>>>(xyz.data_ptr<float>(), xyz.size(0),
                                                           static_cast<float>(1.0 / voxel), res,
                                                           index.data_ptr<int64_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return index;
}

at::Tensor densityGrid(const at::Tensor& index, const at::Tensor& feat, int res) {
  auto grid = at::zeros({res, res, res}, feat.options());
  auto stream = at::cuda::getCurrentCUDAStream();
  scatterDensity<<<gridFor(index.numel()), kBlock, 0, stream>>>(
      index.data_ptr<int64_t>(), feat.data_ptr<float>(), index.numel(), grid.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return grid;
}

at::Tensor countGrid(const at::Tensor& index, int res) {
  auto count = at::zeros({res, res, res}, index.options().dtype(at::kInt));
  auto stream = at::cuda::getCurrentCUDAStream();
  const int64_t n = index.numel();
  const int blocks = gridFor(n);
  countPoints<<<blocks, kBlock>>>(index.data_ptr<int64_t>(), n, count.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return count;
}

}  // namespace

at::Tensor mean_density(const at::Tensor& xyz, const at::Tensor& feat, double voxel, int64_t res) {
  TORCH_CHECK(xyz.is_cuda() && xyz.is_contiguous() && xyz.size(1) == 3, "xyz: contiguous (N, 3) on CUDA");
  TORCH_CHECK(feat.is_cuda() && feat.is_contiguous(), "feat: contiguous on CUDA");
  const c10::cuda::CUDAGuard guard(xyz.device());
  auto index = voxelIndices(xyz, voxel, static_cast<int>(res));
  auto grid = densityGrid(index, feat, static_cast<int>(res));
  auto count = countGrid(index, static_cast<int>(res));
  return grid.div_(count.clamp_min(1).to(grid.scalar_type()));
}

// Evaluates every sweep of a lidar sequence on a stream of the pool, so that it
// overlaps with the caller's stream.
std::vector<at::Tensor> mean_density_sequence(const std::vector<at::Tensor>& sweeps,
                                              const std::vector<at::Tensor>& feats, double voxel, int64_t res) {
  TORCH_CHECK(!sweeps.empty() && sweeps.size() == feats.size());
  const auto device = sweeps.front().device();
  const auto caller = c10::cuda::getCurrentCUDAStream(device.index());
  const auto worker = c10::cuda::getStreamFromPool(false, device.index());

  at::cuda::CUDAEvent ready, done;
  ready.record(caller);
  ready.block(worker);
  std::vector<at::Tensor> out;
  {
    const c10::cuda::CUDAStreamGuard on(worker);
    for (size_t i = 0; i < sweeps.size(); ++i) out.push_back(mean_density(sweeps[i], feats[i], voxel, res));
    done.record(worker);
  }
  done.block(caller);
  for (auto& t : out) t.record_stream(caller);
  return out;
}

}  // namespace voxel_ops

TORCH_LIBRARY(voxel_ops, m) {
  m.def("mean_density", &voxel_ops::mean_density);
  m.def("mean_density_sequence", &voxel_ops::mean_density_sequence);
}

// Dense voxel grid construction (PyTorch extension).
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

namespace vox {
namespace {

constexpr int kThreads = 256;

int blocks_for(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }

__global__ void enumerate_coords(int* ijk, int nx, int ny, int nz) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  int64_t total = static_cast<int64_t>(nx) * ny * nz;
  if (i >= total) return;
  ijk[3 * i + 0] = static_cast<int>(i / (static_cast<int64_t>(ny) * nz));
  ijk[3 * i + 1] = static_cast<int>((i / nz) % ny);
  ijk[3 * i + 2] = static_cast<int>(i % nz);
}

__global__ void mask_coords(const int* ijk, const bool* mask, int64_t n, int* leaf_count, int leaf) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n || !mask[i]) return;
  int key = (ijk[3 * i] / leaf) * 73856093 ^ (ijk[3 * i + 1] / leaf) * 19349663 ^
            (ijk[3 * i + 2] / leaf) * 83492791;
  atomicAdd(&leaf_count[key & 1023], 1);
}

}  // namespace

struct DenseGrid {
  at::Tensor ijk;
  at::Tensor leaf_count;
};

DenseGrid build_dense_grid(const at::Tensor& mask, int64_t nx, int64_t ny, int64_t nz, int64_t leaf) {
  TORCH_CHECK(mask.is_cuda() && mask.scalar_type() == at::kBool, "mask must be a bool CUDA tensor");
  TORCH_CHECK(mask.numel() == nx * ny * nz, "mask has the wrong number of elements");

  const at::cuda::CUDAGuard device_guard(mask.device());
  const auto stream = at::cuda::getCurrentCUDAStream(mask.device().index());

  const auto opts = mask.options().dtype(at::kInt);
  DenseGrid out;
  out.ijk = at::empty({nx * ny * nz, 3}, opts);
  out.leaf_count = at::zeros({1024}, opts);
  const at::Tensor m = mask.contiguous();

  const int64_t n = m.numel();
  if (n == 0) return out;

  enumerate_coords<<<blocks_for(n), kThreads, 0, stream>>>(
      out.ijk.data_ptr<int>(), static_cast<int>(nx), static_cast<int>(ny), static_cast<int>(nz));
  C10_CUDA_KERNEL_LAUNCH_CHECK();

  mask_coords<<<blocks_for(n), kThreads>>>(
      out.ijk.data_ptr<int>(), m.data_ptr<bool>(), n, out.leaf_count.data_ptr<int>(),
      static_cast<int>(leaf));
  C10_CUDA_KERNEL_LAUNCH_CHECK();

  return out;
}

at::Tensor leaf_occupancy(const at::Tensor& mask, int64_t nx, int64_t ny, int64_t nz, int64_t leaf) {
  DenseGrid g = build_dense_grid(mask, nx, ny, nz, leaf);
  return g.leaf_count.to(at::kFloat).div(static_cast<double>(leaf * leaf * leaf));
}

}  // namespace vox

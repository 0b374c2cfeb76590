// Sparse voxel occupancy for CT volumes: scatter, dilate and down-sample on
// the device, as a PyTorch extension.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <vector>

namespace ctvox {
namespace {

constexpr int kThreads = 256;

inline int grid_for(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }

struct Extent {
  int64_t x, y, z;
  __host__ __device__ int64_t voxels() const { return x * y * z; }
};

__global__ void scatter_points(const float* __restrict__ points, int64_t n, Extent e, float inv_size,
                               uint8_t* __restrict__ occupancy) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const int64_t x = static_cast<int64_t>(points[3 * i] * inv_size);
  const int64_t y = static_cast<int64_t>(points[3 * i + 1] * inv_size);
  const int64_t z = static_cast<int64_t>(points[3 * i + 2] * inv_size);
  if (x < 0 || y < 0 || z < 0 || x >= e.x || y >= e.y || z >= e.z) return;
  occupancy[(z * e.y + y) * e.x + x] = 1;
}

__global__ void dilate_x(const uint8_t* __restrict__ in, Extent e, uint8_t* __restrict__ out) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= e.voxels()) return;
  const int64_t x = i % e.x;
  uint8_t v = in[i];
  if (x > 0) v |= in[i - 1];
  if (x + 1 < e.x) v |= in[i + 1];
  out[i] = v;
}

__global__ void halve(const uint8_t* __restrict__ in, Extent e, Extent half, uint8_t* __restrict__ out) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= half.voxels()) return;
  const int64_t x = 2 * (i % half.x), y = 2 * ((i / half.x) % half.y), z = 2 * (i / (half.x * half.y));
  out[i] = in[(z * e.y + y) * e.x + x] | in[(z * e.y + y) * e.x + x + 1];
}

void launch_scatter(const at::Tensor& points, Extent e, double voxel, at::Tensor& occupancy) {
  const auto stream = at::cuda::getCurrentCUDAStream();
  scatter_points<<<grid_for(points.size(0)), kThreads, 0, stream>>>(
      points.const_data_ptr<float>(), points.size(0), e, static_cast<float>(1.0 / voxel),
      occupancy.mutable_data_ptr<uint8_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch_dilate(const at::Tensor& occupancy, Extent e, at::Tensor& dilated) {
  const auto stream = at::cuda::getCurrentCUDAStream();
  dilate_x<<<grid_for(e.voxels()), kThreads, 0, stream>>>(occupancy.const_data_ptr<uint8_t>(), e,
                                                          dilated.mutable_data_ptr<uint8_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch_halve(const at::Tensor& fine, Extent e, Extent half, at::Tensor& coarse) {
  const auto stream = at::cuda::getCurrentCUDAStream();
  halve<<<grid_for(half.voxels()), kThreads, 0, stream>>>(fine.const_data_ptr<uint8_t>(), e, half,
                                                          coarse.mutable_data_ptr<uint8_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

/// Occupancy pyramid of a point set (n x 3, float, on the device).
std::vector<at::Tensor> build_pyramid(const at::Tensor& points, std::vector<int64_t> shape, double voxel) {
  TORCH_CHECK(points.is_cuda() && points.scalar_type() == at::kFloat, "points must be float on a CUDA device");
  TORCH_CHECK(points.is_contiguous() && points.dim() == 2 && points.size(1) == 3, "points must be n x 3");
  const c10::cuda::CUDAGuard device_guard(points.device());
  const Extent e{shape.at(0), shape.at(1), shape.at(2)};
  const Extent half{e.x / 2, e.y / 2, e.z / 2};
  const auto options = points.options().dtype(at::kByte);

  at::Tensor occupancy = at::zeros({e.z, e.y, e.x}, options);
  at::Tensor dilated = at::empty_like(occupancy);
  at::Tensor coarse = at::empty({half.z, half.y, half.x}, options);

  launch_scatter(points, e, voxel, occupancy);
  launch_dilate(occupancy, e, dilated);
  launch_halve(dilated, e, half, coarse);
  return {dilated, coarse};
}

/// Same, on a stream of the pool: several studies may be prepared at a time.
std::vector<at::Tensor> build_pyramid_background(const at::Tensor& points_cpu, std::vector<int64_t> shape,
                                                 double voxel) {
  const auto caller = c10::cuda::getCurrentCUDAStream();
  const auto side = c10::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard guard(side);
  const at::Tensor points = points_cpu.to(at::Device(at::kCUDA, side.device_index()), at::kFloat).contiguous();
  auto levels = build_pyramid(points, shape, voxel);
  side.synchronize();
  for (auto& level : levels) level.record_stream(caller.unwrap());
  return levels;
}

}  // namespace ctvox

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("build_pyramid", &ctvox::build_pyramid);
  m.def("build_pyramid_background", &ctvox::build_pyramid_background);
}

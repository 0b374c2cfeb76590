// Hydraulic erosion step for height maps, exposed to Python.
//
//   flow, height = erosion_ext.erode(height, rain, iterations, rate)
//
// `height` is a [H, W] float tensor on the GPU. It is not modified; a new
// height map and the accumulated water flow are returned.

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

namespace erosion {

constexpr int kTile = 16;

struct LaunchShape {
  dim3 grid;
  dim3 block;
  cudaStream_t stream;
};

LaunchShape shape_for(const at::Tensor& map) {
  const auto rows = static_cast<unsigned>(map.size(0));
  const auto cols = static_cast<unsigned>(map.size(1));
  LaunchShape shape;
  shape.block = dim3(kTile, kTile);
  shape.grid = dim3((cols + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  shape.stream = at::cuda::getCurrentCUDAStream().stream();
  return shape;
}

__global__ void spread_water(const float* height, const float* rain, float* water, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  const int at = y * cols + x;
  float in = rain[at];
  const float h = height[at];
  if (x > 0 && height[at - 1] > h) in += 0.25f * rain[at - 1];
  if (x + 1 < cols && height[at + 1] > h) in += 0.25f * rain[at + 1];
  if (y > 0 && height[at - cols] > h) in += 0.25f * rain[at - cols];
  if (y + 1 < rows && height[at + cols] > h) in += 0.25f * rain[at + cols];
  water[at] += in;
}

__global__ void carve_bed(const float* water, float* height, float rate, int rows, int cols) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  const int at = y * cols + x;
  height[at] -= rate * log1pf(water[at]);
}

void launch_spread(const LaunchShape& s, const at::Tensor& height, const at::Tensor& rain, at::Tensor& water) {
  spread_water<<<s.grid, s.block, 0, s.stream>>>(
      height.data_ptr<float>(), rain.data_ptr<float>(), water.data_ptr<float>(),
      static_cast<int>(height.size(0)), static_cast<int>(height.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch_carve(const LaunchShape& s, const at::Tensor& water, at::Tensor& height, float rate) {
  carve_bed<<<s.grid, s.block, 0, s.stream>>>(
      water.data_ptr<float>(), height.data_ptr<float>(), rate,
      static_cast<int>(height.size(0)), static_cast<int>(height.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

std::tuple<at::Tensor, at::Tensor> erode(
    const at::Tensor& height, const at::Tensor& rain, int64_t iterations, double rate) {
  TORCH_CHECK(height.is_cuda() && rain.is_cuda(), "erode: maps must be CUDA tensors");
  TORCH_CHECK(height.dim() == 2 && height.sizes() == rain.sizes(), "erode: shape mismatch");
  TORCH_CHECK(height.scalar_type() == at::kFloat, "erode: float32 only");

  const c10::cuda::CUDAGuard guard(height.device());
  at::Tensor bed = height.contiguous().clone();
  at::Tensor drops = rain.contiguous();
  at::Tensor water = at::zeros_like(bed);

  const LaunchShape shape = shape_for(bed);
  for (int64_t i = 0; i < iterations; ++i) {
    launch_spread(shape, bed, drops, water);
    launch_carve(shape, water, bed, static_cast<float>(rate));
  }
  return {water, bed};
}

}  // namespace erosion

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("erode", &erosion::erode, "hydraulic erosion of a height map",
        pybind11::arg("height"), pybind11::arg("rain"), pybind11::arg("iterations") = 1,
        pybind11::arg("rate") = 1e-3);
}

// Averages LiDAR returns per voxel.  The worker keeps its own stream so that the
// planner's kernels are not delayed by the map update.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

namespace voxmap {

constexpr int kBlock = 256;

inline int gridFor(int64_t n) { return static_cast<int>((n + kBlock - 1) / kBlock); }

__global__ void scatterReturns(const float* __restrict__ xyz, const float* __restrict__ value,
                               int64_t n, float inv, int side, float* sum, float* count) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  int x = min(max(static_cast<int>(xyz[3 * i] * inv), 0), side - 1);
  int y = min(max(static_cast<int>(xyz[3 * i + 1] * inv), 0), side - 1);
  int z = min(max(static_cast<int>(xyz[3 * i + 2] * inv), 0), side - 1);
  int cell = (z * side + y) * side + x;
  atomicAdd(sum + cell, value[i]);
  atomicAdd(count + cell, 1.0f);
}

template <typename T>
__global__ void divideCells(const T* __restrict__ sum, const T* __restrict__ count, T* out,
                            int64_t cells, T background) {
  int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < cells) out[i] = count[i] > T(0) ? sum[i] / count[i] : background;
}

struct Grid {
  int side;
  float cell;
};

void launchScatter(const at::Tensor& xyz, const at::Tensor& value, const Grid& grid,
                   at::Tensor& sum, at::Tensor& count) {
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int64_t n = xyz.size(0);
  if (n == 0) return;
  scatterReturns<<<gridFor(n), kBlock, 0, stream>>>(
      xyz.data_ptr<float>(), value.data_ptr<float>(), n, 1.0f / grid.cell, grid.side,
      sum.data_ptr<float>(), count.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <typename T>
void launchDivide(const at::Tensor& sum, const at::Tensor& count, at::Tensor& out, T background) {
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int64_t cells = sum.numel();
  divideCells<T><<<gridFor(cells), kBlock, 0, stream>>>(
      sum.data_ptr<T>(), count.data_ptr<T>(), out.data_ptr<T>(), cells, background);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor averageReturns(const at::Tensor& xyz, const at::Tensor& value, const Grid& grid) {
  TORCH_CHECK(xyz.is_cuda() && xyz.is_contiguous() && xyz.size(1) == 3, "xyz must be [N, 3] on CUDA");
  TORCH_CHECK(value.is_cuda() && value.is_contiguous() && value.size(0) == xyz.size(0));
  at::Tensor sum = at::zeros({grid.side, grid.side, grid.side}, xyz.options());
  at::Tensor count = at::zeros_like(sum);
  at::Tensor out = at::empty_like(sum);
  launchScatter(xyz, value, grid, sum, count);
  launchDivide<float>(sum, count, out, -1.0f);
  return out;
}

// One worker per sensor head.
class OccupancyWorker {
 public:
  OccupancyWorker(int side, double cell)
      : grid_{side, static_cast<float>(cell)}, stream_(at::cuda::getStreamFromPool()) {}

  at::Tensor update(const at::Tensor& xyz, const at::Tensor& value) {
    const auto caller = at::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent inputsReady;
    inputsReady.record(caller);
    inputsReady.block(stream_);

    at::Tensor map;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      map = averageReturns(xyz, value, grid_);
      xyz.record_stream(stream_);
      value.record_stream(stream_);
    }

    at::cuda::CUDAEvent mapReady;
    mapReady.record(stream_);
    mapReady.block(caller);
    map.record_stream(caller);
    return map;
  }

 private:
  Grid grid_;
  c10::cuda::CUDAStream stream_;
};

}  // namespace voxmap

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<voxmap::OccupancyWorker>(m, "OccupancyWorker")
      .def(py::init<int, double>())
      .def("update", &voxmap::OccupancyWorker::update);
}

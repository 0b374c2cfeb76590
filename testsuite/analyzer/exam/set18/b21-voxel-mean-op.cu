// Voxel averaging of lidar sweeps as a PyTorch operator, plus a small
// asynchronous front end that keeps the sweep off the training stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>

namespace lidar {

struct GridSpec {
  float ox, oy, oz;
  float inv;
  int nx, ny, nz;
  int64_t cells() const { return int64_t(nx) * ny * nz; }
};

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  cudaStream_t stream;
};

inline LaunchShape cover(int64_t n, cudaStream_t stream = nullptr) {
  constexpr unsigned kThreads = 256;
  return {unsigned((n + kThreads - 1) / kThreads), kThreads, stream};
}

__global__ void assignCells(const float* __restrict__ xyz, int64_t n, GridSpec g,
                            int* __restrict__ cell) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int ix = int((xyz[3 * i] - g.ox) * g.inv);
  int iy = int((xyz[3 * i + 1] - g.oy) * g.inv);
  int iz = int((xyz[3 * i + 2] - g.oz) * g.inv);
  bool inside = ix >= 0 && iy >= 0 && iz >= 0 && ix < g.nx && iy < g.ny && iz < g.nz;
  cell[i] = inside ? (iz * g.ny + iy) * g.nx + ix : -1;
}

__global__ void scatterFeatures(const float* __restrict__ feat, const int* __restrict__ cell,
                                int64_t n, int channels, float* __restrict__ sums,
                                float* __restrict__ hits) {
  int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (t >= n * channels) return;
  int64_t i = t / channels;
  int c = int(t % channels);
  int v = cell[i];
  if (v < 0) return;
  atomicAdd(&sums[int64_t(v) * channels + c], feat[t]);
  if (c == 0) atomicAdd(&hits[v], 1.0f);
}

at::Tensor cellsOf(const at::Tensor& xyz, const GridSpec& g) {
  auto cell = at::empty({xyz.size(0)}, xyz.options().dtype(at::kInt));
  auto shape = cover(xyz.size(0), at::cuda::getCurrentCUDAStream());
  assignCells<<<shape.blocks, shape.threads, 0, shape.stream>>>(
      xyz.const_data_ptr<float>(), xyz.size(0), g, cell.mutable_data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return cell;
}

void scatter(const at::Tensor& feat, const at::Tensor& cell, at::Tensor& sums, at::Tensor& hits) {
  const int64_t n = feat.size(0);
  const int channels = int(feat.size(1));
  auto shape = cover(n * channels);
  scatterFeatures<<<shape.blocks, shape.threads, 0, shape.stream>>>(
      feat.const_data_ptr<float>(), cell.const_data_ptr<int>(), n, channels,
      sums.mutable_data_ptr<float>(), hits.mutable_data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor voxelMean(const at::Tensor& points, const at::Tensor& features, const GridSpec& g) {
  TORCH_CHECK(points.is_cuda() && points.scalar_type() == at::kFloat, "points: float CUDA tensor");
  TORCH_CHECK(points.size(1) == 3 && features.size(0) == points.size(0), "shape mismatch");
  c10::cuda::CUDAGuard device(points.device());

  auto xyz = points.contiguous();
  auto feat = features.to(at::kFloat).contiguous();
  auto sums = at::zeros({g.cells(), feat.size(1)}, feat.options());
  auto hits = at::zeros({g.cells()}, feat.options());

  auto cell = cellsOf(xyz, g);
  scatter(feat, cell, sums, hits);
  return sums.div_(hits.clamp_min(1.0).unsqueeze(1));
}

// Runs the operator next to the training step. The caller collects the grid
// with take(), which orders it into the caller's current stream.
class SweepWorker {
 public:
  explicit SweepWorker(GridSpec spec) : spec_(spec), side_(c10::cuda::getStreamFromPool()) {}

  void submit(const at::Tensor& points, const at::Tensor& features) {
    at::cuda::CUDAEvent inputs;
    inputs.record(c10::cuda::getCurrentCUDAStream());
    inputs.block(side_);
    points.record_stream(side_.unwrap());
    features.record_stream(side_.unwrap());

    c10::cuda::CUDAStreamGuard guard(side_);
    grid_ = voxelMean(points, features, spec_);
    done_.record(side_);
  }

  at::Tensor take() {
    auto current = c10::cuda::getCurrentCUDAStream();
    done_.block(current);
    grid_.record_stream(current.unwrap());
    return std::move(grid_);
  }

 private:
  GridSpec spec_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent done_;
  at::Tensor grid_;
};

}  // namespace lidar

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<lidar::SweepWorker>(m, "SweepWorker")
      .def(py::init([](float x, float y, float z, float edge, int nx, int ny, int nz) {
        return lidar::SweepWorker(lidar::GridSpec{x, y, z, 1.0f / edge, nx, ny, nz});
      }))
      .def("submit", &lidar::SweepWorker::submit)
      .def("take", &lidar::SweepWorker::take);
}

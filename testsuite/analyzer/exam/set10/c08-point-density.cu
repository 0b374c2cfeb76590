// Point-cloud density estimation (PyTorch extension): voxel histogram with a custom kernel on a worker stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace density {

constexpr int kThreads = 256;

__global__ void bin_points(const float* xyz, int* bin, int n, int grid, float inv_cell) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int idx = 0;
  for (int d = 0; d < 3; ++d) {
    const int c = min(max(int(xyz[3 * i + d] * inv_cell) + grid / 2, 0), grid - 1);
    idx = idx * grid + c;
  }
  bin[i] = idx;
}

__global__ void count_bins(const int* bin, int n, int* histogram) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&histogram[bin[i]], 1);
}

inline int blocks_for(int n) { return (n + kThreads - 1) / kThreads; }

// Histogram of the points over grid^3 voxels, on the current stream.
at::Tensor histogram(const at::Tensor& points, int64_t grid, double cell) {
  TORCH_CHECK(points.is_cuda() && points.is_contiguous() && points.scalar_type() == at::kFloat, "float CUDA points");
  TORCH_CHECK(points.dim() == 2 && points.size(1) == 3, "points must be N x 3");
  const c10::cuda::CUDAGuard device(points.device());
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const int n = static_cast<int>(points.size(0));
  at::Tensor out = at::zeros({grid * grid * grid}, points.options().dtype(at::kInt));
  if (n == 0) return out;
  at::Tensor bin = at::empty({n}, out.options());
  bin_points<<<blocks_for(n), kThreads, 0, stream>>>(points.data_ptr<float>(), bin.data_ptr<int>(), n, int(grid),
                                                     float(1.0 / cell));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  count_bins<<<blocks_for(n), kThreads, 0, stream>>>(bin.data_ptr<int>(), n, out.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

class Worker {
 public:
  explicit Worker(c10::DeviceIndex device) : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  // Starts the estimate of one cloud; take() hands the result to the caller's stream.
  void submit(const at::Tensor& points, int64_t grid, double cell) {
    TORCH_CHECK(!result_.defined(), "previous result not taken");
    arrived_.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    arrived_.block(stream_);
    points.record_stream(stream_.unwrap());
    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor counts = histogram(points, grid, cell);
    result_ = smooth(counts, grid);
    finished_.record(stream_);
  }

  at::Tensor take() {
    TORCH_CHECK(result_.defined(), "nothing submitted");
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    finished_.block(caller);
    result_.record_stream(caller.unwrap());
    return std::exchange(result_, at::Tensor());
  }

 private:
  static at::Tensor smooth(const at::Tensor& counts, int64_t grid) {
    at::Tensor volume = counts.to(at::kFloat).view({1, 1, grid, grid, grid});
    return at::avg_pool3d(volume, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}).view({grid, grid, grid});
  }

  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent arrived_, finished_;
  at::Tensor result_;
};

// Estimates all clouds with two workers, merging results in order.
at::Tensor accumulate(const std::vector<at::Tensor>& clouds, int64_t grid, double cell) {
  TORCH_CHECK(!clouds.empty(), "no clouds");
  const c10::cuda::CUDAGuard device(clouds[0].device());
  const auto index = clouds[0].device().index();
  Worker workers[2] = {Worker(index), Worker(index)};
  at::Tensor total = at::zeros({grid, grid, grid}, clouds[0].options());
  workers[0].submit(clouds[0], grid, cell);
  for (size_t i = 0; i < clouds.size(); ++i) {
    if (i + 1 < clouds.size()) workers[(i + 1) % 2].submit(clouds[i + 1], grid, cell);
    total.add_(workers[i % 2].take());
  }
  return total;
}

}  // namespace density

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("histogram", &density::histogram);
  m.def("accumulate", &density::accumulate);
}

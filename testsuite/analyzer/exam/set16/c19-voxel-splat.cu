// Splats points into a voxel grid. The kernels run on a stream that belongs to the splatter.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <cstdint>
#include <functional>

namespace splat {

__global__ void scatterPoints(const float* points, float* grid, int n, int edge) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = min(edge - 1, max(0, int(points[3 * i + 0] * edge)));
  int y = min(edge - 1, max(0, int(points[3 * i + 1] * edge)));
  int z = min(edge - 1, max(0, int(points[3 * i + 2] * edge)));
  atomicAdd(&grid[(std::int64_t(z) * edge + y) * edge + x], 1.f);
}

__global__ void normalise(float* grid, std::int64_t cells, float scale) {
  std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x;
  if (i < cells) grid[i] *= scale;
}

// A private stream with the edges to and from the stream that is current at the call.
class PrivateStream {
 public:
  PrivateStream() {
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  }
  ~PrivateStream() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;

  void bracket(const std::function<void(cudaStream_t)>& body) {
    const cudaStream_t caller = at::cuda::getCurrentCUDAStream();
    edge(caller, stream_);
    body(stream_);
    edge(stream_, caller);
  }

 private:
  void edge(cudaStream_t from, cudaStream_t to) {
    C10_CUDA_CHECK(cudaEventRecord(event_, from));
    C10_CUDA_CHECK(cudaStreamWaitEvent(to, event_, 0));
  }

  cudaStream_t stream_{};
  cudaEvent_t event_{};
};

class Splatter {
 public:
  explicit Splatter(std::int64_t edge) : edge_(edge) {}

  // points: float [n, 3] in the unit cube, on the device that is current. Ready on the current stream.
  at::Tensor run(const at::Tensor& points) {
    TORCH_CHECK(points.is_cuda() && points.scalar_type() == at::kFloat && points.size(1) == 3, "bad points");
    c10::cuda::CUDAGuard device(points.device());
    at::Tensor dense = points.contiguous();
    at::Tensor grid = at::zeros({edge_, edge_, edge_}, points.options());
    stream_.bracket([&](cudaStream_t stream) { splatInto(dense, grid, stream); });
    return grid;
  }

 private:
  void splatInto(const at::Tensor& points, at::Tensor& grid, cudaStream_t stream) {
    const int n = static_cast<int>(points.size(0));
    const std::int64_t cells = grid.numel();
    if (n == 0) return;
    scatterPoints<<<(n + 255) / 256, 256, 0, stream>>>(points.data_ptr<float>(), grid.data_ptr<float>(), n,
                                                       static_cast<int>(edge_));
    normalise<<<static_cast<unsigned>((cells + 255) / 256), 256, 0, stream>>>(grid.data_ptr<float>(), cells, 1.f / n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  std::int64_t edge_;
  PrivateStream stream_;
};

}  // namespace splat

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<splat::Splatter>(m, "Splatter").def(py::init<std::int64_t>()).def("run", &splat::Splatter::run);
}

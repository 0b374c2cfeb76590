// Spherical projection of lidar scans to range images (PyTorch extension).
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <limits>
#include <utility>
#include <vector>

namespace scan {

constexpr int kRows = 64;
constexpr int kCols = 2048;
constexpr float kFar = 120.f;

__global__ void project_points(const float* xyz, int n, int* image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = xyz[3 * i], y = xyz[3 * i + 1], z = xyz[3 * i + 2];
  const float r = sqrtf(x * x + y * y + z * z) + 1e-6f;
  const int col = int((atan2f(y, x) * 0.15915494f + 0.5f) * (kCols - 1));
  const int row = int((0.5f - asinf(z / r) * 1.2f) * (kRows - 1));
  if (row < 0 || row >= kRows || col < 0 || col >= kCols) return;
  atomicMin(&image[row * kCols + col], int(r * 1000.f));
}

void splat(const at::Tensor& points, at::Tensor& image) {
  const int n = static_cast<int>(points.size(0));
  const int threads = 256;
  const int blocks = (n + threads - 1) / threads;
  project_points<<<blocks, threads>>>(points.data_ptr<float>(), n, image.data_ptr<int>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// Range in millimetres of the nearest return per pixel, kFar where there is none.
at::Tensor range_image(const at::Tensor& points) {
  TORCH_CHECK(points.is_cuda() && points.scalar_type() == at::kFloat && points.is_contiguous(), "float CUDA points");
  TORCH_CHECK(points.dim() == 2 && points.size(1) == 3, "points must be N x 3");
  const c10::cuda::CUDAGuard device(points.device());
  at::Tensor image = at::full({kRows, kCols}, std::numeric_limits<int>::max(), points.options().dtype(at::kInt));
  if (points.size(0) > 0) splat(points, image);
  return image.clamp_max_(static_cast<int64_t>(kFar * 1000.f));
}

at::Tensor edges(const at::Tensor& image) {
  return at::diff(image.to(at::kFloat), 1, -1).abs();
}

class ScanBatch {
 public:
  explicit ScanBatch(c10::DeviceIndex device)
      : device_(device), stream_(c10::cuda::getStreamFromPool(false, device)) {}

  // Projects all scans on the batch's own stream; the results may be used on the caller's stream.
  std::vector<at::Tensor> process(const std::vector<at::Tensor>& scans) {
    const auto caller = c10::cuda::getCurrentCUDAStream(device_);
    begin_.record(caller);
    begin_.block(stream_);
    std::vector<at::Tensor> out;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      for (const auto& s : scans) {
        s.record_stream(stream_.unwrap());
        out.push_back(edges(range_image(s)));
      }
      end_.record(stream_);
    }
    end_.block(caller);
    for (const auto& t : out) t.record_stream(caller.unwrap());
    return out;
  }

 private:
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent begin_, end_;
};

}  // namespace scan

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("range_image", &scan::range_image);
  pybind11::class_<scan::ScanBatch>(m, "ScanBatch")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("process", &scan::ScanBatch::process);
}

// Cone-beam tomography: filtered projections are computed on the current stream and
// parked in pinned memory while the volume occupies the device.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace cbct {

__global__ void rampFilter(const float* __restrict__ raw, float* __restrict__ filtered, int columns, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int c = static_cast<int>(i % columns);
  const float left = c > 0 ? raw[i - 1] : 0.f;
  const float right = c + 1 < columns ? raw[i + 1] : 0.f;
  filtered[i] = 0.25f * raw[i] - 0.101321f * (left + right);
}

torch::Tensor filter(const torch::Tensor& raw) {
  TORCH_CHECK(raw.is_cuda() && raw.scalar_type() == torch::kFloat, "float CUDA projections expected");
  const c10::cuda::CUDAGuard guard(raw.device());
  const auto input = raw.contiguous();
  auto output = torch::empty_like(input);
  const int64_t n = input.numel();
  if (n == 0) return output;
  const auto stream = c10::cuda::getCurrentCUDAStream(input.get_device());
  rampFilter<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream.stream()>>>(
      input.data_ptr<float>(), output.data_ptr<float>(), static_cast<int>(input.size(-1)), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return output;
}

class ProjectionCache {
 public:
  explicit ProjectionCache(c10::DeviceIndex device)
      : transfer_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  ~ProjectionCache() { transfer_.synchronize(); }
  ProjectionCache(const ProjectionCache&) = delete;
  ProjectionCache& operator=(const ProjectionCache&) = delete;

  void park(torch::Tensor projection) {
    auto host = torch::empty(projection.sizes(), projection.options().device(torch::kCPU).pinned_memory(true));
    at::cuda::CUDAEvent computed;
    computed.record(c10::cuda::getCurrentCUDAStream(transfer_.device_index()));
    computed.block(transfer_);
    {
      c10::cuda::CUDAStreamGuard guard(transfer_);
      host.copy_(projection, /*non_blocking=*/true);
    }
    parked_.push_back(std::move(host));
    finish_.push_back([projection = std::move(projection)] {
      at::native::resize_bytes_cuda(projection.storage().unsafeGetStorageImpl(), 0);
    });
  }

  // Gives up the device copies of everything parked so far.
  void evict() {
    transfer_.synchronize();
    for (auto& release : finish_) release();
    finish_.clear();
  }

  double mean(int64_t index) {
    evict();
    return parked_.at(static_cast<size_t>(index)).mean().item<double>();
  }

 private:
  c10::cuda::CUDAStream transfer_;
  std::vector<torch::Tensor> parked_;
  std::vector<std::function<void()>> finish_;
};

std::vector<double> preview(const std::vector<torch::Tensor>& raw) {
  std::vector<double> means;
  if (raw.empty()) return means;
  ProjectionCache cache(raw.front().get_device());
  for (const auto& projection : raw) cache.park(filter(projection));
  cache.evict();
  for (size_t i = 0; i < raw.size(); ++i) means.push_back(cache.mean(static_cast<int64_t>(i)));
  return means;
}

}  // namespace cbct

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("filter", &cbct::filter);
  m.def("preview", &cbct::preview);
}

// Uploads and normalises satellite tiles one step ahead of the consumer.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace tiles {

constexpr int kBands = 12;

struct BandStats {
  float mean[kBands];
  float invStd[kBands];
};

__global__ void normalizeBands(const uint16_t* raw, float* out, BandStats stats, int64_t plane,
                               int64_t total) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int band = static_cast<int>((i / plane) % kBands);
    out[i] = (static_cast<float>(raw[i]) - stats.mean[band]) * stats.invStd[band];
  }
}

// Yields pinned [N, kBands, H, W] uint16 (stored as int16) tiles, or nothing at the end.
using TileSource = std::function<std::optional<at::Tensor>()>;

class TilePrefetcher {
 public:
  TilePrefetcher(TileSource source, BandStats stats, c10::DeviceIndex device)
      : source_(std::move(source)), stats_(stats), device_(device),
        loader_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {
    preload();
  }

  // The returned batch is ready on the current stream.
  std::optional<at::Tensor> next() {
    if (!ahead_) return std::nullopt;
    const auto consumer = c10::cuda::getCurrentCUDAStream(device_);
    loaded_.block(consumer);
    std::optional<at::Tensor> batch = std::move(ahead_);
    ahead_.reset();
    batch->record_stream(consumer);
    preload();
    return batch;
  }

 private:
  void preload() {
    std::optional<at::Tensor> host = source_();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(loader_);
    ahead_ = toReflectance(*host);
    loaded_.record(loader_);
  }

  at::Tensor toReflectance(const at::Tensor& host) const {
    TORCH_CHECK(host.is_contiguous() && host.size(1) == kBands, "unexpected tile layout");
    const at::Tensor raw = host.to(at::Device(at::kCUDA, device_), /*non_blocking=*/true);
    at::Tensor out = at::empty(raw.sizes(), raw.options().dtype(at::kFloat));
    const int64_t total = raw.numel();
    const int64_t plane = raw.size(2) * raw.size(3);
    const int grid = static_cast<int>(std::min<int64_t>((total + 255) / 256, 8192));
    normalizeBands<<<grid, 256, 0, loader_.stream()>>>(
        reinterpret_cast<const uint16_t*>(raw.data_ptr<int16_t>()), out.data_ptr<float>(), stats_,
        plane, total);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
  }

  TileSource source_;
  BandStats stats_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream loader_;
  at::cuda::CUDAEvent loaded_;
  std::optional<at::Tensor> ahead_;
};

using SegmentationModel = std::function<at::Tensor(const at::Tensor&)>;

// Classifies a whole scene. The per-class pixel counts stay on the device.
at::Tensor classifyScene(TilePrefetcher& prefetcher, const SegmentationModel& model,
                         int64_t classes, const at::Device& device) {
  at::Tensor histogram = at::zeros({classes}, at::TensorOptions().dtype(at::kLong).device(device));
  while (std::optional<at::Tensor> batch = prefetcher.next()) {
    const at::Tensor label = model(*batch).argmax(/*dim=*/1).flatten();
    const at::Tensor ones = at::ones_like(label);
    histogram.scatter_add_(0, label, ones);
  }
  return histogram;
}

}  // namespace tiles

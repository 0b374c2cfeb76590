// Tile loader for whole-slide pathology images.  Tiles are uploaded and normalised one step ahead on a
// side stream while the model works on the previous batch.
#include <torch/torch.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace pathology {

struct TileBatch {
  torch::Tensor pixels;  // NCHW, uint8 on the host, float on the device
  torch::Tensor coords;
};

class TileSource {
 public:
  TileSource(torch::Tensor slide, int64_t tile, int64_t batch) : slide_(std::move(slide)), tile_(tile), batch_(batch) {}

  std::optional<TileBatch> next() {
    const int64_t cols = slide_.size(2) / tile_;
    const int64_t rows = slide_.size(1) / tile_;
    if (position_ >= rows * cols) return std::nullopt;
    std::vector<torch::Tensor> tiles;
    std::vector<int64_t> where;
    for (; position_ < rows * cols && int64_t(tiles.size()) < batch_; ++position_) {
      const int64_t y = position_ / cols * tile_;
      const int64_t x = position_ % cols * tile_;
      tiles.push_back(slide_.narrow(1, y, tile_).narrow(2, x, tile_));
      where.push_back(y);
      where.push_back(x);
    }
    return TileBatch{torch::stack(tiles).pin_memory(), torch::tensor(where, torch::kInt64).view({-1, 2})};
  }

 private:
  torch::Tensor slide_;
  int64_t tile_;
  int64_t batch_;
  int64_t position_ = 0;
};

class PrefetchLoader {
 public:
  PrefetchLoader(TileSource source, c10::Device device)
      : source_(std::move(source)),
        device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())),
        mean_(torch::tensor({0.70f, 0.55f, 0.68f}, device).view({1, 3, 1, 1})),
        inv_std_(torch::tensor({4.2f, 4.0f, 4.8f}, device).view({1, 3, 1, 1})) {
    at::cuda::CUDAEvent constants;
    constants.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    constants.block(side_);
    preload();
  }

  std::optional<TileBatch> next() {
    if (!ahead_) return std::nullopt;
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    uploaded_.block(current);
    TileBatch batch = std::move(*ahead_);
    batch.pixels.record_stream(current.unwrap());
    ahead_.reset();
    preload();
    return batch;
  }

 private:
  void preload() {
    auto host = source_.next();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    torch::Tensor raw = host->pixels.to(device_, torch::kUInt8, /*non_blocking=*/true);
    torch::Tensor pixels = raw.to(torch::kFloat32).div_(255.f).sub_(mean_).mul_(inv_std_);
    uploaded_.record(side_);
    ahead_ = TileBatch{pixels, host->coords};
  }

  TileSource source_;
  c10::Device device_;
  c10::cuda::CUDAStream side_;
  torch::Tensor mean_;
  torch::Tensor inv_std_;
  at::cuda::CUDAEvent uploaded_;
  std::optional<TileBatch> ahead_;
};

struct SlideScore {
  torch::Tensor logits;
  torch::Tensor coords;
};

using Model = std::function<torch::Tensor(const torch::Tensor&)>;

SlideScore score_slide(const torch::Tensor& slide, const Model& model, int64_t device_index) {
  torch::NoGradGuard no_grad;
  c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index));
  c10::cuda::CUDAGuard on_device(device);

  PrefetchLoader loader(TileSource(slide, 256, 64), device);
  std::vector<torch::Tensor> logits;
  std::vector<torch::Tensor> coords;
  while (auto batch = loader.next()) {
    logits.push_back(model(batch->pixels));
    coords.push_back(batch->coords);
  }
  return {torch::cat(logits), torch::cat(coords)};
}

// Mean colour per tile: the cheapest usable baseline.
SlideScore colour_baseline(const torch::Tensor& slide, int64_t device_index) {
  return score_slide(slide, [](const torch::Tensor& pixels) { return pixels.mean({2, 3}); }, device_index);
}

}  // namespace pathology

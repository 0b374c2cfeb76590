// Satellite tile loader: the next batch of tiles is uploaded and normalised on
// a loader stream while the model works on the batch before it.

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <functional>
#include <optional>
#include <utility>

namespace tiles {

// Returns the next [B, C, H, W] uint8 batch on the CPU, or nothing at the end.
using Source = std::function<std::optional<at::Tensor>()>;

struct Normalisation {
  at::Tensor mean;
  at::Tensor inv_std;
};

class TileLoader {
 public:
  // `norm` holds CPU tensors of shape [C, 1, 1].
  TileLoader(Source source, const Normalisation& norm, c10::DeviceIndex device)
      : source_(std::move(source)), side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {
    const c10::cuda::CUDAStreamGuard on_side(side_);
    mean_ = norm.mean.to(at::Device(at::kCUDA, device), at::kFloat);
    inv_std_ = norm.inv_std.to(at::Device(at::kCUDA, device), at::kFloat);
    preload();
  }

  // The batch for this step, for use on the current stream.
  std::optional<at::Tensor> next() {
    if (!pending_) return std::nullopt;
    const auto current = at::cuda::getCurrentCUDAStream(side_.device_index());
    uploaded_.block(current);
    at::Tensor batch = std::move(*pending_);
    pending_.reset();
    preload();
    return batch;
  }

 private:
  void preload() {
    std::optional<at::Tensor> host = source_();
    if (!host) return;
    const c10::cuda::CUDAStreamGuard on_side(side_);
    at::Tensor pinned = host->is_pinned() ? *host : host->pin_memory();
    at::Tensor raw = pinned.to(side_.device(), at::kByte, /*non_blocking=*/true);
    pending_ = raw.to(at::kFloat).sub_(mean_).mul_(inv_std_);
    uploaded_.record(side_);
  }

  Source source_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent uploaded_;
  at::Tensor mean_;
  at::Tensor inv_std_;
  std::optional<at::Tensor> pending_;
};

// Running channel statistics of everything that the loader delivers.
class BandStatistics {
 public:
  explicit BandStatistics(int64_t bands, at::Device device)
      : sum_(at::zeros({bands}, at::TensorOptions().device(device).dtype(at::kDouble))),
        squares_(at::zeros_like(sum_)) {}

  void add(const at::Tensor& batch) {
    const at::Tensor wide = batch.to(at::kDouble);
    sum_.add_(wide.mean({0, 2, 3}));
    squares_.add_(wide.square().mean({0, 2, 3}));
    ++batches_;
  }

  at::Tensor table() const {
    const double n = static_cast<double>(batches_ ? batches_ : 1);
    return at::stack({sum_ / n, squares_ / n}).cpu();
  }

 private:
  at::Tensor sum_;
  at::Tensor squares_;
  int64_t batches_ = 0;
};

at::Tensor survey(Source source, const Normalisation& norm, int64_t bands, int64_t device_index) {
  const auto index = static_cast<c10::DeviceIndex>(device_index);
  const c10::cuda::CUDAGuard guard(index);
  TileLoader loader(std::move(source), norm, index);
  BandStatistics stats(bands, at::Device(at::kCUDA, index));
  while (std::optional<at::Tensor> batch = loader.next()) stats.add(*batch);
  return stats.table();
}

at::Tensor survey_list(const std::vector<at::Tensor>& batches, const at::Tensor& mean, const at::Tensor& inv_std,
                       int64_t device_index) {
  std::size_t cursor = 0;
  Source source = [&]() -> std::optional<at::Tensor> {
    if (cursor == batches.size()) return std::nullopt;
    return batches[cursor++];
  };
  return survey(source, {mean, inv_std}, mean.size(0), device_index);
}

}  // namespace tiles

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("survey", &tiles::survey_list, "per-band statistics of a list of tile batches");
}

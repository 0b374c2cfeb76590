// Prefetching feed of spectrogram batches for the speaker-embedding trainer.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <optional>
#include <utility>
#include <vector>

namespace speaker {

struct Clip {
  at::Tensor samples;  // pinned, [batch, time]
  at::Tensor label;    // pinned, [batch]
};

class ClipSource {
 public:
  explicit ClipSource(std::vector<Clip> clips) : clips_(std::move(clips)) {}
  std::optional<Clip> next() {
    if (pos_ == clips_.size()) return std::nullopt;
    return clips_[pos_++];
  }

 private:
  std::vector<Clip> clips_;
  size_t pos_ = 0;
};

struct Batch {
  at::Tensor features;
  at::Tensor label;
};

class PrefetchFeed {
 public:
  PrefetchFeed(ClipSource source, at::Tensor mean, at::Tensor inv_std, c10::DeviceIndex device)
      : source_(std::move(source)),
        device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        mean_(std::move(mean)),
        inv_std_(std::move(inv_std)) {
    at::cuda::CUDAEvent stats_ready;
    stats_ready.record(c10::cuda::getCurrentCUDAStream(device_));
    stats_ready.block(side_);
    fetch();
  }

  ~PrefetchFeed() { side_.synchronize(); }

  std::optional<Batch> next() {
    if (!upcoming_) return std::nullopt;
    auto consumer = c10::cuda::getCurrentCUDAStream(device_);
    fetched_.block(consumer);
    Batch out = std::move(*upcoming_);
    upcoming_.reset();
    fetch();
    return out;
  }

 private:
  void fetch() {
    auto clip = source_.next();
    if (!clip) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Device dev(at::kCUDA, device_);
    at::Tensor x = clip->samples.to(dev, at::kFloat, /*non_blocking=*/true);
    at::Tensor y = clip->label.to(dev, at::kLong, /*non_blocking=*/true);
    x = x.unfold(1, 400, 160).contiguous();
    x = x.sub(mean_).mul_(inv_std_);
    fetched_.record(side_);
    upcoming_ = Batch{std::move(x), std::move(y)};
  }

  ClipSource source_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::Tensor mean_, inv_std_;
  std::optional<Batch> upcoming_;
  at::cuda::CUDAEvent fetched_;
};

class Embedder {
 public:
  explicit Embedder(at::Tensor weight) : weight_(std::move(weight)) {}

  at::Tensor loss(const Batch& b) const {
    at::Tensor h = at::matmul(b.features, weight_).relu_();
    at::Tensor pooled = h.mean(1);
    return at::cross_entropy_loss(pooled, b.label);
  }

 private:
  at::Tensor weight_;
};

// Mean loss over all clips; everything but the feed runs on the caller's stream.
at::Tensor evaluate(std::vector<Clip> clips, const at::Tensor& weight, const at::Tensor& mean,
                    const at::Tensor& inv_std) {
  const auto device = weight.device().index();
  c10::cuda::CUDAGuard guard(device);
  PrefetchFeed feed(ClipSource(std::move(clips)), mean, inv_std, device);
  Embedder model(weight);
  at::Tensor total = at::zeros({}, weight.options());
  int64_t count = 0;
  while (auto batch = feed.next()) {
    total.add_(model.loss(*batch));
    ++count;
  }
  return count ? total.div_(count) : total;
}

}  // namespace speaker

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("evaluate", [](std::vector<at::Tensor> samples, std::vector<at::Tensor> labels,
                       at::Tensor weight, at::Tensor mean, at::Tensor inv_std) {
    std::vector<speaker::Clip> clips;
    for (size_t i = 0; i < samples.size(); ++i)
      clips.push_back({samples[i].pin_memory(), labels[i].pin_memory()});
    return speaker::evaluate(std::move(clips), weight, mean, inv_std);
  });
}

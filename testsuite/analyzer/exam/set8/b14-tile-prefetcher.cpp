// Prefetching loader for satellite tiles: uploads and normalises the next batch on its own stream
// while the network works on the current one.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tiles {

struct Batch {
  torch::Tensor image;  // [b, c, h, w]
  torch::Tensor label;  // [b, h, w]
};

// Host side of the pipeline; delivers pinned tensors, nullopt at the end of an epoch.
using Source = std::function<std::optional<Batch>()>;

class Prefetcher {
 public:
  Prefetcher(Source source, c10::DeviceIndex device, torch::Tensor mean, torch::Tensor stddev)
      : source_(std::move(source)),
        device_(device),
        loader_(c10::cuda::getStreamFromPool(false, device)),
        mean_(mean.to(torch::Device(torch::kCUDA, device)).view({1, -1, 1, 1})),
        invStd_(stddev.to(torch::Device(torch::kCUDA, device)).reciprocal().view({1, -1, 1, 1})) {
    at::cuda::CUDAEvent constants;
    constants.record(c10::cuda::getCurrentCUDAStream(device));
    constants.block(loader_);
    preload();
  }

  ~Prefetcher() { loader_.synchronize(); }

  std::optional<Batch> next() {
    if (!upcoming_) return std::nullopt;
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    uploaded_.block(current);
    Batch batch = std::move(*upcoming_);
    preload();
    return batch;
  }

 private:
  void preload() {
    upcoming_.reset();
    auto host = source_();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(loader_);
    const torch::Device dev(torch::kCUDA, device_);
    auto raw = host->image.to(dev, /*non_blocking=*/true);
    Batch b;
    b.image = raw.to(torch::kFloat).sub_(mean_).mul_(invStd_);
    b.label = host->label.to(dev, /*non_blocking=*/true);
    uploaded_.record(loader_);
    upcoming_ = std::move(b);
  }

  Source source_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream loader_;
  torch::Tensor mean_;
  torch::Tensor invStd_;
  at::cuda::CUDAEvent uploaded_;
  std::optional<Batch> upcoming_;
};

torch::Tensor segmentationLoss(const torch::Tensor& image, const torch::Tensor& weight, const torch::Tensor& label) {
  auto logits = torch::conv2d(image, weight, {}, 1, weight.size(2) / 2);
  return torch::nll_loss2d(torch::log_softmax(logits, 1), label);
}

double evaluate(const std::vector<torch::Tensor>& images, const std::vector<torch::Tensor>& labels, const torch::Tensor& weight,
                const torch::Tensor& mean, const torch::Tensor& stddev) {
  TORCH_CHECK(images.size() == labels.size(), "one label map per image batch");
  size_t at = 0;
  Prefetcher loader(
      [&]() -> std::optional<Batch> {
        if (at == images.size()) return std::nullopt;
        Batch b{images[at].pin_memory(), labels[at].pin_memory()};
        ++at;
        return b;
      },
      weight.get_device(), mean, stddev);

  torch::NoGradGuard noGrad;
  auto total = torch::zeros({}, weight.options());
  int64_t batches = 0;
  while (auto batch = loader.next()) {
    total += segmentationLoss(batch->image, weight, batch->label);
    ++batches;
  }
  return batches ? total.item<double>() / static_cast<double>(batches) : 0.0;
}

}  // namespace tiles

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("evaluate", &tiles::evaluate, "Mean segmentation loss over pinned or pageable tile batches");
}

// Prefetching feeder for whole-slide pathology patches. While the classifier works on one
// batch, the next one is copied to the device and normalised on a side stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pathology {

struct Batch {
  at::Tensor patches;  // float, N x 3 x H x W, normalised
  at::Tensor labels;   // long, N
};

// Host side of the feed: batches lie in page-locked memory for the whole epoch.
class SlideShard {
 public:
  SlideShard(at::Tensor patches, at::Tensor labels, std::int64_t batch_size)
      : patches_(std::move(patches).contiguous().pin_memory()),
        labels_(std::move(labels).contiguous().pin_memory()),
        batch_size_(batch_size) {
    TORCH_CHECK(patches_.scalar_type() == at::kByte, "patches must be uint8");
    TORCH_CHECK(labels_.scalar_type() == at::kLong, "labels must be int64");
    TORCH_CHECK(patches_.size(0) == labels_.size(0), "one label per patch");
  }

  std::int64_t batches() const { return patches_.size(0) / batch_size_; }
  std::pair<at::Tensor, at::Tensor> host_batch(std::int64_t i) const {
    return {patches_.narrow(0, i * batch_size_, batch_size_),
            labels_.narrow(0, i * batch_size_, batch_size_)};
  }

 private:
  at::Tensor patches_;
  at::Tensor labels_;
  std::int64_t batch_size_;
};

class PatchPrefetcher {
 public:
  PatchPrefetcher(const SlideShard& shard, c10::Device device)
      : shard_(shard),
        device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {
    const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
    mean_ = at::tensor({182.f, 140.f, 178.f}).view({1, 3, 1, 1}).to(options);
    inv_std_ = at::tensor({0.022f, 0.019f, 0.024f}).view({1, 3, 1, 1}).to(options);
    setup_.record(c10::cuda::getCurrentCUDAStream(device.index()));
    setup_.block(side_);
    mean_.record_stream(side_);
    inv_std_.record_stream(side_);
    preload();
  }

  // Next batch for the caller's current stream, or nothing at the end of the shard.
  std::optional<Batch> next() {
    if (!staged_) return std::nullopt;
    const auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    loaded_.block(current);
    Batch batch = std::move(*staged_);
    staged_.reset();
    batch.patches.record_stream(current);
    batch.labels.record_stream(current);
    preload();
    return batch;
  }

 private:
  void preload() {
    if (cursor_ == shard_.batches()) return;
    const auto [host_patches, host_labels] = shard_.host_batch(cursor_++);
    c10::cuda::CUDAStreamGuard guard(side_);
    Batch b;
    const at::Tensor raw = host_patches.to(device_, at::kByte, /*non_blocking=*/true);
    b.patches = raw.to(at::kFloat).sub_(mean_).mul_(inv_std_);
    b.labels = host_labels.to(device_, at::kLong, /*non_blocking=*/true);
    loaded_.record(side_);
    staged_ = std::move(b);
  }

  const SlideShard& shard_;
  c10::Device device_;
  c10::cuda::CUDAStream side_;
  at::Tensor mean_;
  at::Tensor inv_std_;
  at::cuda::CUDAEvent setup_;
  at::cuda::CUDAEvent loaded_;
  std::optional<Batch> staged_;
  std::int64_t cursor_ = 0;
};

// Mean cross entropy of a linear probe over one shard.
double evaluate(const at::Tensor& patches, const at::Tensor& labels, const at::Tensor& weight,
                const at::Tensor& bias, std::int64_t batch_size) {
  c10::cuda::CUDAGuard on(weight.device());
  SlideShard shard(patches, labels, batch_size);
  PatchPrefetcher feed(shard, weight.device());
  at::Tensor total = at::zeros({}, weight.options());
  std::int64_t seen = 0;
  while (auto batch = feed.next()) {
    const at::Tensor features = at::adaptive_avg_pool2d(batch->patches, {8, 8}).flatten(1);
    const at::Tensor logits = at::linear(features, weight, bias);
    total.add_(at::cross_entropy_loss(logits, batch->labels));
    ++seen;
  }
  return seen ? total.item<double>() / static_cast<double>(seen) : 0.0;
}

}  // namespace pathology

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("evaluate", &pathology::evaluate, "Linear-probe loss over a shard", py::arg("patches"),
        py::arg("labels"), py::arg("weight"), py::arg("bias"), py::arg("batch_size"));
}

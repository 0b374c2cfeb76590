// Prefetching loader for click logs: the next batch travels to the GPU on a side stream while the current one
// is scored.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace clicks {

struct Batch {
  torch::Tensor dense;   // [rows, features]
  torch::Tensor labels;  // [rows]
};

// Batches in page-locked CPU memory; nothing at the end of the log.
using Source = std::function<std::optional<Batch>()>;

class Prefetcher {
 public:
  explicit Prefetcher(Source source, c10::DeviceIndex device)
      : source_(std::move(source)), device_(device), copy_(at::cuda::getStreamFromPool(false, device)) {
    preload();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The batch that was fetched last, ready for use on the current stream.
  std::optional<Batch> next() {
    if (!pending_) return std::nullopt;
    const auto current = at::cuda::getCurrentCUDAStream(device_);
    arrived_.block(current);
    Batch out = std::move(*pending_);
    out.dense.record_stream(current);
    out.labels.record_stream(current);
    pending_.reset();
    preload();
    return out;
  }

 private:
  void preload() {
    std::optional<Batch> host = source_();
    if (!host) return;
    const c10::cuda::CUDAStreamGuard guard(copy_);
    pending_ = Batch{upload(host->dense), upload(host->labels)};
    arrived_.record(copy_);
  }

  torch::Tensor upload(const torch::Tensor& t) const {
    return t.to(torch::Device(torch::kCUDA, device_), /*non_blocking=*/true);
  }

  Source source_;
  c10::DeviceIndex device_;
  at::cuda::CUDAStream copy_;
  at::cuda::CUDAEvent arrived_;
  std::optional<Batch> pending_;
};

class LogisticModel {
 public:
  LogisticModel(torch::Tensor weight, torch::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  torch::Tensor forward(const torch::Tensor& x) const { return torch::sigmoid(torch::matmul(x, weight_) + bias_); }

  // One step of plain gradient descent.
  void update(const Batch& b, double rate) {
    torch::Tensor error = forward(b.dense) - b.labels;
    weight_.sub_(torch::matmul(b.dense.t(), error), rate / static_cast<double>(b.dense.size(0)));
    bias_.sub_(error.mean(), rate);
  }

  const torch::Tensor& weight() const { return weight_; }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;
};

struct EpochStats {
  int64_t batches = 0;
  double squaredError = 0;
};

EpochStats trainEpoch(LogisticModel& model, Source source, c10::DeviceIndex device, double rate) {
  const c10::cuda::CUDAGuard guard(device);
  torch::NoGradGuard noGrad;
  Prefetcher loader(std::move(source), device);
  torch::Tensor loss = torch::zeros({}, torch::dtype(torch::kFloat32).device(torch::kCUDA, device));
  EpochStats stats;
  while (std::optional<Batch> batch = loader.next()) {
    model.update(*batch, rate);
    loss.add_((model.forward(batch->dense) - batch->labels).square().mean());
    ++stats.batches;
  }
  if (stats.batches > 0) stats.squaredError = loss.item<double>() / static_cast<double>(stats.batches);
  return stats;
}

}  // namespace clicks

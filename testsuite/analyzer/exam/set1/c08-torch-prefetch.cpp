// Host-to-device prefetcher for a training loop.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>

namespace data {

struct Batch {
  at::Tensor images;
  at::Tensor labels;
};

class Prefetcher {
 public:
  using Source = std::function<std::optional<Batch>()>;

  Prefetcher(Source source, c10::DeviceIndex device, double mean, double stddev)
      : source_(std::move(source)),
        device_(c10::kCUDA, device),
        stream_(c10::cuda::getStreamFromPool(false, device)),
        mean_(mean),
        stddev_(stddev) {
    preload();
  }

  // The next batch, ready for the current stream; empty at the end.
  std::optional<Batch> next() {
    if (!staged_) return std::nullopt;
    const auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    uploaded_.block(current);

    Batch out = std::move(*staged_);
    staged_.reset();
    // Allocated on stream_, used and freed by work of the current stream.
    out.images.record_stream(current);
    out.labels.record_stream(current);
    preload();
    return out;
  }

 private:
  void preload() {
    std::optional<Batch> host = source_();
    if (!host) return;

    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor images = host->images.pin_memory();
    at::Tensor labels = host->labels.pin_memory();
    Batch dev;
    dev.images = images.to(device_, /*non_blocking=*/true);
    dev.labels = labels.to(device_, /*non_blocking=*/true);
    dev.images = dev.images.to(at::kFloat).sub_(mean_).div_(stddev_);
    uploaded_.record(stream_);
    staged_ = std::move(dev);
    // The pinned tensors go back to the host allocator, which keeps their
    // blocks until the copies on stream_ have read them.
  }

  Source source_;
  c10::Device device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent uploaded_;
  std::optional<Batch> staged_;
  double mean_;
  double stddev_;
};

at::Tensor epoch_mean(Prefetcher& loader, c10::DeviceIndex device) {
  at::Tensor total = at::zeros({}, at::TensorOptions().device(c10::Device(c10::kCUDA, device)));
  int64_t batches = 0;
  while (auto b = loader.next()) {
    total += b->images.mean();
    ++batches;
  }
  return batches > 0 ? total.div_(static_cast<double>(batches)) : total;
}

}  // namespace data

// Prefetching loader for seismic shot gathers: the next gather is uploaded and
// normalised on a side stream while the caller works on the current one.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>

namespace seismic {

struct Gather {
  at::Tensor traces;   // [receivers, samples]
  at::Tensor offsets;  // [receivers]
};

using Source = std::function<std::optional<Gather>()>;

class PrefetchLoader {
 public:
  PrefetchLoader(Source source, c10::Device device, double mean, double stddev)
      : source_(std::move(source)),
        device_(device),
        mean_(mean),
        invStd_(1.0 / stddev),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {
    preload();
  }

  // The current gather, ready for work on the current stream.
  std::optional<Gather> next() {
    if (!staged_) return std::nullopt;
    auto consumer = c10::cuda::getCurrentCUDAStream(device_.index());
    ready_.block(consumer);
    Gather out = std::move(*staged_);
    staged_.reset();
    preload();
    return out;
  }

  void setStatistics(double mean, double stddev) {
    mean_ = mean;
    invStd_ = 1.0 / stddev;
  }

 private:
  void preload() {
    auto host = source_();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    Gather g;
    g.traces = host->traces.pin_memory().to(device_, at::kFloat, /*non_blocking=*/true);
    g.traces.sub_(mean_).mul_(invStd_);
    g.offsets = host->offsets.pin_memory().to(device_, at::kFloat, /*non_blocking=*/true);
    ready_.record(side_);
    staged_ = std::move(g);
  }

  Source source_;
  c10::Device device_;
  double mean_;
  double invStd_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_;
  std::optional<Gather> staged_;
};

// Normal move-out and stack.
static at::Tensor stackGather(const Gather& g, double velocity) {
  auto delay = g.offsets.div(velocity).unsqueeze(1);
  return g.traces.mul(at::exp(delay.neg())).sum(0);
}

at::Tensor stackLine(Source source, c10::Device device, int64_t samples, double velocity) {
  c10::cuda::CUDAGuard deviceGuard(device);
  PrefetchLoader loader(std::move(source), device, 0.0, 1.0);
  at::Tensor section = at::zeros({samples}, at::TensorOptions().device(device).dtype(at::kFloat));
  while (auto gather = loader.next()) {
    section.add_(stackGather(*gather, velocity));
  }
  return section;
}

}  // namespace seismic

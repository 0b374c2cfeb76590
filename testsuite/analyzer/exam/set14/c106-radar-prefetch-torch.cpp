// Weather radar nowcasting: sweeps are uploaded and converted to reflectivity
// on a side stream, one sweep ahead of the model.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>

namespace nowcast {

using SweepSource = std::function<std::optional<at::Tensor>()>;

class SweepLoader {
 public:
  SweepLoader(SweepSource source, c10::Device device)
      : source_(std::move(source)),
        device_(device),
        side_(c10::cuda::getStreamFromPool(false, device.index())) {
    advance();
  }

  // Next sweep in dBZ, ready on the current stream.
  std::optional<at::Tensor> next() {
    if (!staged_) return std::nullopt;
    auto consumer = c10::cuda::getCurrentCUDAStream(device_.index());
    ready_.block(consumer);
    at::Tensor sweep = std::move(*staged_);
    staged_.reset();
    c10::cuda::CUDACachingAllocator::recordStream(sweep.storage().data_ptr(), consumer);
    advance();
    return sweep;
  }

 private:
  void advance() {
    auto host = source_();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor raw = host->pin_memory().to(device_, at::kFloat, /*non_blocking=*/true);
    staged_ = raw.clamp_min(1e-3).log10().mul_(10.0);
    ready_.record(side_);
  }

  SweepSource source_;
  c10::Device device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_;
  std::optional<at::Tensor> staged_;
};

// Marshall-Palmer rain rate in mm/h.
static at::Tensor rainRate(const at::Tensor& dbz) {
  at::Tensor z = at::pow(10.0, dbz.div(10.0));
  return z.div(200.0).pow(1.0 / 1.6);
}

// Exponentially weighted mean rain rate of all sweeps.
at::Tensor climatology(SweepSource source, c10::Device device, c10::IntArrayRef shape, double alpha) {
  c10::cuda::CUDAGuard guard(device);
  SweepLoader loader(std::move(source), device);
  at::Tensor mean = at::zeros(shape, at::TensorOptions().device(device).dtype(at::kFloat));
  while (auto sweep = loader.next()) {
    mean.mul_(1.0 - alpha).add_(rainRate(*sweep), alpha);
  }
  return mean;
}

}  // namespace nowcast

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

// Scores stellar spectra against a template library. Spectra are kept page-locked on the host and
// come in one batch ahead of the computation.

namespace spectra {

struct Sample {
  at::Tensor flux;
  at::Tensor ivar;
};

class Prefetcher {
 public:
  Prefetcher(std::vector<Sample> host, c10::Device device)
      : host_(std::move(host)),
        device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {
    for (auto& s : host_) TORCH_CHECK(s.flux.is_pinned() && s.ivar.is_pinned(), "page-locked input expected");
    preload();
  }

  std::optional<Sample> next() {
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    arrived_.block(current);
    std::optional<Sample> out = std::exchange(ahead_, std::nullopt);
    if (out) {
      out->flux.record_stream(current);
      out->ivar.record_stream(current);
      preload();
    }
    return out;
  }

 private:
  void preload() {
    if (pos_ == host_.size()) return;
    const Sample& h = host_[pos_++];
    c10::cuda::CUDAStreamGuard guard(side_);
    Sample d;
    d.flux = h.flux.to(device_, /*non_blocking=*/true).to(at::kFloat).div_(65535.0);
    d.ivar = h.ivar.to(device_, /*non_blocking=*/true).to(at::kFloat);
    arrived_.record(side_);
    ahead_ = std::move(d);
  }

  std::vector<Sample> host_;
  c10::Device device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent arrived_;
  std::optional<Sample> ahead_;
  std::size_t pos_ = 0;
};

class TemplateMatcher {
 public:
  TemplateMatcher(at::Tensor templates, double floor) : templates_(std::move(templates)), floor_(floor) {
    norms_ = templates_.pow(2);
  }

  at::Tensor chi2(const Sample& s) const {
    at::Tensor w = s.ivar.clamp_min(floor_);
    at::Tensor cross = at::mm(s.flux * w, templates_.t());
    at::Tensor power = at::mm(w, norms_.t());
    at::Tensor self = (s.flux * s.flux * w).sum(1, /*keepdim=*/true);
    return self - cross.pow(2) / power;
  }

 private:
  at::Tensor templates_;
  at::Tensor norms_;
  double floor_;
};

at::Tensor classify(std::vector<Sample> host, const at::Tensor& templates) {
  c10::cuda::CUDAGuard device_guard(templates.device());
  Prefetcher prefetcher(std::move(host), templates.device());
  TemplateMatcher matcher(templates, 1e-6);
  std::vector<at::Tensor> best;
  while (auto sample = prefetcher.next()) {
    best.push_back(matcher.chi2(*sample).argmin(1));
  }
  return at::cat(best).cpu();
}

}  // namespace spectra

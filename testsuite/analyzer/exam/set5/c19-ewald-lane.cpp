// Long-range part of an electrostatic energy on a second stream, short-range part on the caller's.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <tuple>
#include <utility>

namespace ewald {

class SideLane {
 public:
  explicit SideLane(c10::Device d) : device_(d), stream_(c10::cuda::getStreamFromPool(false, d.index())) {}

  // Runs `work` on the lane after everything the caller has queued; `inputs` are only read there.
  template <typename Work, typename... Inputs>
  at::Tensor run(Work&& work, const Inputs&... inputs) {
    forked_.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    forked_.block(stream_);
    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor out = work(inputs...);
    (inputs.record_stream(stream_), ...);
    finished_.record(stream_);
    return out;
  }

  at::Tensor join(at::Tensor t) {
    auto caller = c10::cuda::getCurrentCUDAStream(device_.index());
    finished_.block(caller);
    t.record_stream(caller);
    return t;
  }

 private:
  c10::Device device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent forked_;
  at::cuda::CUDAEvent finished_;
};

at::Tensor structure_factor(const at::Tensor& pos, const at::Tensor& charge, const at::Tensor& kvec) {
  at::Tensor phase = at::mm(pos, kvec.t());
  at::Tensor re = at::mv(phase.cos().t(), charge);
  at::Tensor im = at::mv(phase.sin().t(), charge);
  return re.square() + im.square();
}

at::Tensor short_range(const at::Tensor& pos, const at::Tensor& charge, double alpha) {
  at::Tensor d = at::cdist(pos, pos).add_(at::eye(pos.size(0), pos.options()).mul_(1e6));
  at::Tensor qq = charge.unsqueeze(1) * charge.unsqueeze(0);
  return (qq * at::erfc(d * alpha) / d).sum().mul_(0.5);
}

class Ewald {
 public:
  Ewald(at::Tensor kvec, double alpha) : kvec_(std::move(kvec)), alpha_(alpha), lane_(kvec_.device()) {
    at::Tensor k2 = kvec_.square().sum(1);
    weight_ = (k2.mul(-0.25 / (alpha * alpha))).exp().div_(k2);
  }

  at::Tensor energy(const at::Tensor& pos, const at::Tensor& charge) {
    c10::cuda::CUDAGuard guard(pos.device());
    at::Tensor centred = pos - pos.mean(0, /*keepdim=*/true);
    at::Tensor pending = lane_.run(
        [](const at::Tensor& p, const at::Tensor& q, const at::Tensor& k, const at::Tensor& w) {
          return at::dot(structure_factor(p, q, k), w);
        },
        centred, charge, kvec_, weight_);
    at::Tensor near = short_range(centred, charge, alpha_);
    centred = at::Tensor();
    return near.add_(lane_.join(std::move(pending)));
  }

 private:
  at::Tensor kvec_;
  double alpha_;
  SideLane lane_;
  at::Tensor weight_;
};

at::Tensor trajectory_energy(const at::Tensor& frames, const at::Tensor& charge, const at::Tensor& kvec) {
  Ewald sum(kvec, 0.35);
  at::Tensor out = at::empty({frames.size(0)}, frames.options());
  for (int64_t f = 0; f < frames.size(0); ++f) out[f].copy_(sum.energy(frames[f], charge));
  return out;
}

}  // namespace ewald

// Runs the shared-expert part of a mixture layer on a side stream.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace moe {

struct Expert {
  at::Tensor up;
  at::Tensor down;

  at::Tensor operator()(const at::Tensor& x) const {
    return at::linear(at::silu(at::linear(x, up)), down);
  }
};

class SideStream {
 public:
  explicit SideStream(c10::DeviceIndex device) : stream_(c10::cuda::getStreamFromPool(false, device)) {}

  template <typename Fn>
  at::Tensor run(const at::Tensor& input, Fn&& fn) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    fork_.record(caller);
    fork_.block(stream_);
    input.record_stream(stream_);
    at::Tensor result;
    {
      const c10::cuda::CUDAStreamGuard guard(stream_);
      result = std::forward<Fn>(fn)(input);
      join_.record();
    }
    result.record_stream(caller);
    return result;
  }

  // Orders the current stream after the work of the last run().
  void join() { join_.block(c10::cuda::getCurrentCUDAStream(stream_.device_index())); }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent fork_;
  at::cuda::CUDAEvent join_;
};

class MixtureLayer {
 public:
  MixtureLayer(Expert shared, std::vector<Expert> experts, at::Tensor router, c10::DeviceIndex device)
      : shared_(std::move(shared)), experts_(std::move(experts)), router_(std::move(router)), side_(device) {}

  at::Tensor forward(const at::Tensor& x) {
    at::NoGradGuard no_grad;
    const at::Tensor normed = at::layer_norm(x, {x.size(-1)});
    const at::Tensor common = side_.run(normed, [this](const at::Tensor& t) { return shared_(t); });
    const at::Tensor gates = at::softmax(at::linear(normed, router_), -1);
    at::Tensor mixed = at::zeros_like(x);
    for (size_t e = 0; e < experts_.size(); ++e) {
      mixed.add_(experts_[e](normed) * gates.select(-1, static_cast<int64_t>(e)).unsqueeze(-1));
    }
    side_.join();
    return x + mixed + common;
  }

 private:
  Expert shared_;
  std::vector<Expert> experts_;
  at::Tensor router_;
  SideStream side_;
};

} // namespace moe

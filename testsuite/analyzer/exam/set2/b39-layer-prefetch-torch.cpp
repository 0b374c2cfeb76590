#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <vector>

namespace offload {

struct HostLayer {
  at::Tensor weight;  // pinned, never written after loading
  at::Tensor bias;    // pinned, never written after loading
};

struct DeviceLayer {
  at::Tensor weight;
  at::Tensor bias;
};

class Prefetcher {
 public:
  Prefetcher(std::vector<HostLayer> layers, c10::Device device)
      : layers_(std::move(layers)), device_(device), copy_stream_(c10::cuda::getStreamFromPool(false, device.index())) {}

  void start(size_t index) {
    const c10::cuda::CUDAStreamGuard guard(copy_stream_);
    const HostLayer& src = layers_[index];
    DeviceLayer dst;
    dst.weight = src.weight.to(device_, /*non_blocking=*/true);
    dst.bias = src.bias.to(device_, /*non_blocking=*/true);
    next_ = std::move(dst);
    arrived_.record(copy_stream_);
  }

  // Hands out the layer started last; it may be used on the current stream.
  DeviceLayer take() {
    const auto compute = c10::cuda::getCurrentCUDAStream(device_.index());
    TORCH_CHECK(next_.has_value(), "nothing was prefetched");
    arrived_.block(compute);
    DeviceLayer layer = std::move(*next_);
    next_.reset();
    layer.weight.record_stream(copy_stream_);
    layer.bias.record_stream(copy_stream_);
    return layer;
  }

  size_t size() const { return layers_.size(); }

 private:
  std::vector<HostLayer> layers_;
  c10::Device device_;
  c10::cuda::CUDAStream copy_stream_;
  at::cuda::CUDAEvent arrived_;
  std::optional<DeviceLayer> next_;
};

at::Tensor forward(Prefetcher& prefetcher, at::Tensor hidden) {
  at::NoGradGuard no_grad;
  if (prefetcher.size() == 0) return hidden;
  prefetcher.start(0);
  for (size_t i = 0; i < prefetcher.size(); ++i) {
    DeviceLayer layer = prefetcher.take();
    if (i + 1 < prefetcher.size()) prefetcher.start(i + 1);
    hidden = at::silu(at::linear(hidden, layer.weight, layer.bias));
  }
  return hidden;
}

} // namespace offload

#include <torch/torch.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace video {

struct Clip {
  torch::Tensor frames;  // uint8, (B, T, H, W, C), pinned
  torch::Tensor label;   // int64, (B), pinned
};

struct DeviceClip {
  torch::Tensor frames;  // float, normalised, (B, C, T, H, W)
  torch::Tensor label;
};

using ClipSource = std::function<std::optional<Clip>()>;

// Uploads and normalises the next clip on a side stream while the model works on
// the current one.
class ClipPrefetcher {
 public:
  ClipPrefetcher(ClipSource source, torch::Device device, const std::vector<double>& mean,
                 const std::vector<double>& std)
      : source_(std::move(source)), device_(device),
        stream_(c10::cuda::getStreamFromPool(false, device.index())) {
    auto f = torch::TensorOptions().dtype(torch::kFloat32).device(device_);
    mean_ = torch::tensor(mean).to(f).mul_(255.0).view({1, -1, 1, 1, 1});
    invStd_ = torch::tensor(std).to(f).mul_(255.0).reciprocal_().view({1, -1, 1, 1, 1});
    at::cuda::CUDAEvent constants;
    constants.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    constants.block(stream_);
    preload();
  }

  ~ClipPrefetcher() { stream_.synchronize(); }

  std::optional<DeviceClip> next() {
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    loaded_.block(current);
    std::optional<DeviceClip> clip = std::exchange(staged_, std::nullopt);
    if (clip) {
      clip->frames.record_stream(current.unwrap());
      clip->label.record_stream(current.unwrap());
      preload();
    }
    return clip;
  }

 private:
  void preload() {
    std::optional<Clip> host = source_();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(stream_);
    DeviceClip d;
    d.label = host->label.to(device_, /*non_blocking=*/true);
    auto raw = host->frames.to(device_, /*non_blocking=*/true);
    d.frames = raw.permute({0, 4, 1, 2, 3}).to(torch::kFloat32).sub_(mean_).mul_(invStd_).contiguous();
    loaded_.record(stream_);
    staged_ = std::move(d);
  }

  ClipSource source_;
  torch::Device device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent loaded_;
  torch::Tensor mean_, invStd_;
  std::optional<DeviceClip> staged_;
};

struct Backbone : torch::nn::Module {
  Backbone(int64_t classes)
      : conv(register_module("conv", torch::nn::Conv3d(torch::nn::Conv3dOptions(3, 64, 3).stride(2)))),
        head(register_module("head", torch::nn::Linear(64, classes))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return head->forward(torch::relu(conv->forward(x)).mean({2, 3, 4}));
  }
  torch::nn::Conv3d conv{nullptr};
  torch::nn::Linear head{nullptr};
};

double train_epoch(Backbone& model, torch::optim::Optimizer& opt, ClipPrefetcher& loader, torch::Device device) {
  auto total = torch::zeros({}, torch::TensorOptions().dtype(torch::kFloat32).device(device));
  int64_t steps = 0;
  while (auto clip = loader.next()) {
    opt.zero_grad();
    auto logits = model.forward(clip->frames);
    auto loss = torch::nn::functional::cross_entropy(logits, clip->label);
    loss.backward();
    opt.step();
    total.add_(loss.detach());
    ++steps;
  }
  return total.item<double>() / static_cast<double>(std::max<int64_t>(steps, 1));
}

}  // namespace video

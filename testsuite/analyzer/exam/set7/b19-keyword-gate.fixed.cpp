// Wake-word gate of the audio service. The acoustic head runs on the GPU, the decision on the host.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wake {

struct GateConfig {
  double smoothing = 0.8;
  float threshold = 0.65f;
  int64_t holdFrames = 12;
};

struct Decision {
  int64_t keyword;
  float confidence;
};

// Acoustic head: one linear layer with a bias over the pooled features.
class Head {
 public:
  Head(const at::Tensor& weight, const at::Tensor& bias, const at::Device& device)
      : weight_(weight.to(device)), bias_(bias.to(device)) {}

  at::Tensor probabilities(const at::Tensor& features) const {
    return at::softmax(at::linear(features, weight_, bias_), -1);
  }

  int64_t classes() const { return weight_.size(0); }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

// Pinned mirror of a small device tensor, reused for every frame.
class HostMirror {
 public:
  explicit HostMirror(int64_t size)
      : pinned_(at::empty({size}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true))) {}

  const at::Tensor& refresh(const at::Tensor& device) {
    pinned_.copy_(device, /*non_blocking=*/true);
    return pinned_;
  }

 private:
  at::Tensor pinned_;
};

static Decision strongest(const at::Tensor& scores) {
  const float* p = scores.const_data_ptr<float>();
  Decision best{0, p[0]};
  for (int64_t k = 1; k < scores.numel(); ++k) {
    if (p[k] > best.confidence) best = Decision{k, p[k]};
  }
  return best;
}

// All calls of one gate come from one thread with one current stream.
class Gate {
 public:
  Gate(const at::Tensor& weight, const at::Tensor& bias, std::vector<std::string> names,
       at::Device device, GateConfig config)
      : device_(device),
        config_(config),
        head_(weight, bias, device),
        names_(std::move(names)),
        average_(at::zeros({weight.size(0)}, at::device(device).dtype(at::kFloat))),
        mirror_(weight.size(0)) {
    TORCH_CHECK(static_cast<int64_t>(names_.size()) == head_.classes(), "one name per class");
  }

  // Feeds one frame; returns the name of a keyword when it has just been spotted.
  std::optional<std::string> feed(const at::Tensor& features) {
    const c10::cuda::CUDAGuard guard(device_);
    const c10::NoGradGuard noGrad;
    if (hold_ > 0) --hold_;

    const at::Tensor probs = head_.probabilities(features.to(device_).mean(0));
    average_.mul_(config_.smoothing).add_(probs, 1.0 - config_.smoothing);
    const at::Tensor& host = mirror_.refresh(average_);
    c10::cuda::getCurrentCUDAStream().synchronize();

    const Decision d = strongest(host);
    if (hold_ > 0 || d.keyword == 0 || d.confidence < config_.threshold) return std::nullopt;
    hold_ = config_.holdFrames;
    average_.zero_();
    return names_[static_cast<size_t>(d.keyword)];
  }

  void reset() {
    const c10::cuda::CUDAGuard guard(device_);
    average_.zero_();
    hold_ = 0;
  }

 private:
  at::Device device_;
  GateConfig config_;
  Head head_;
  std::vector<std::string> names_;
  at::Tensor average_;
  HostMirror mirror_;
  int64_t hold_ = 0;
};

std::vector<std::string> spotAll(Gate& gate, const std::vector<at::Tensor>& frames) {
  std::vector<std::string> found;
  for (const at::Tensor& f : frames) {
    if (std::optional<std::string> name = gate.feed(f)) found.push_back(*name);
  }
  gate.reset();
  return found;
}

}  // namespace wake

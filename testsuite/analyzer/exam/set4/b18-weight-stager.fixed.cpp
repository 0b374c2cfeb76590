// Keeps the weights of an expert stack packed on the device; the next layer is
// unpacked on a low-priority stream while the current one computes.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <utility>
#include <vector>

namespace experts {

struct PackedWeight {
  at::Tensor codes;   // int8 [out, in]
  at::Tensor scales;  // float [out, 1]
};

class WeightStager {
 public:
  explicit WeightStager(std::vector<PackedWeight> layers)
      : layers_(std::move(layers)),
        device_(layers_.front().codes.get_device()),
        aux_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_)) {
    c10::cuda::getCurrentCUDAStream(device_).synchronize();
  }

  void start() { stage(0); }

  // Weight of layer i, usable on the current stream; begins with layer i + 1.
  at::Tensor take(size_t i) {
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    ready_.block(current);
    at::Tensor w = std::move(staged_);
    w.record_stream(current);
    if (i + 1 < layers_.size()) stage(i + 1);
    return w;
  }

  size_t depth() const { return layers_.size(); }

 private:
  void stage(size_t i) {
    c10::cuda::CUDAStreamGuard guard(aux_);
    const PackedWeight& p = layers_[i];
    staged_ = p.codes.to(at::kFloat).mul_(p.scales);
    ready_.record(aux_);
  }

  std::vector<PackedWeight> layers_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream aux_;
  at::cuda::CUDAEvent ready_;
  at::Tensor staged_;
};

class ExpertStack {
 public:
  explicit ExpertStack(std::vector<PackedWeight> layers) : stager_(std::move(layers)) {}

  at::Tensor forward(at::Tensor x) {
    c10::InferenceMode mode;
    stager_.start();
    for (size_t i = 0; i < stager_.depth(); ++i) {
      at::Tensor w = stager_.take(i);
      x = block(x, w);
    }
    return x;
  }

 private:
  static at::Tensor block(const at::Tensor& x, const at::Tensor& w) {
    at::Tensor h = at::matmul(x, w.t());
    h = at::silu(h);
    return at::layer_norm(h, {h.size(-1)});
  }

  WeightStager stager_;
};

std::vector<PackedWeight> pack(const std::vector<at::Tensor>& dense) {
  std::vector<PackedWeight> out;
  for (const at::Tensor& w : dense) {
    at::Tensor s = w.abs().amax(1, /*keepdim=*/true).div(127.0).clamp_min(1e-8);
    out.push_back({w.div(s).round().to(at::kChar), s.to(at::kFloat)});
  }
  return out;
}

at::Tensor run_stack(const at::Tensor& x, at::TensorList weights, int64_t repeats) {
  TORCH_CHECK(!weights.empty() && x.is_cuda());
  const c10::cuda::CUDAGuard device_guard(x.device());
  ExpertStack stack(pack(weights.vec()));
  at::Tensor y = x;
  for (int64_t r = 0; r < repeats; ++r) y = stack.forward(y);
  return y;
}

}  // namespace experts

TORCH_LIBRARY_FRAGMENT(experts, m) {
  m.def("run_stack(Tensor x, Tensor[] weights, int repeats) -> Tensor");
}
TORCH_LIBRARY_IMPL(experts, CUDA, m) { m.impl("run_stack", &experts::run_stack); }

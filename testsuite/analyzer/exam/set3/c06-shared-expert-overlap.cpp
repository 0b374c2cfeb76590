// Mixture-of-experts layer: the shared expert runs on a side stream next to the routed experts.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

namespace moe {

struct Weights {
  at::Tensor gate;   // [hidden, experts]
  at::Tensor shared; // [hidden, hidden]
  at::Tensor routed; // [experts, hidden, hidden]

  static Weights random(int64_t hidden, int64_t experts, at::Device device) {
    const auto opts = at::TensorOptions().dtype(at::kFloat).device(device);
    return {at::randn({hidden, experts}, opts), at::randn({hidden, hidden}, opts), at::randn({experts, hidden, hidden}, opts)};
  }
};

class SharedExpertOverlap {
 public:
  explicit SharedExpertOverlap(c10::DeviceIndex device)
      : side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  template <typename Main, typename Side>
  at::Tensor operator()(const at::Tensor& x, Main&& mainFn, Side&& sideFn) {
    const auto main = c10::cuda::getCurrentCUDAStream(x.device().index());

    fork_.record(main);
    fork_.block(side_);

    at::Tensor sideOut;
    {
      c10::cuda::CUDAStreamGuard guard(side_);
      sideOut = sideFn(x);
      join_.record(side_);
    }
    at::Tensor out = mainFn(x);

    // x stays alive until the caller drops it, which is ordered by the join as well
    join_.block(main);
    sideOut.record_stream(main.unwrap());
    return out.add_(sideOut);
  }

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent fork_, join_;
};

class MoeLayer {
 public:
  MoeLayer(Weights w, c10::DeviceIndex device) : w_(std::move(w)), overlap_(device) {}

  at::Tensor forward(const at::Tensor& x) {
    return overlap_(
        x,
        [this](const at::Tensor& t) { return routed(t); },
        [this](const at::Tensor& t) { return at::gelu(at::matmul(t, w_.shared)); });
  }

 private:
  at::Tensor routed(const at::Tensor& x) const {
    at::Tensor probs = at::softmax(at::matmul(x, w_.gate), -1);
    at::Tensor out = at::zeros_like(x);
    for (int64_t e = 0; e < w_.routed.size(0); ++e) {
      out.add_(at::matmul(x, w_.routed.select(0, e)).mul_(probs.select(1, e).unsqueeze(1)));
    }
    return out;
  }

  Weights w_;
  SharedExpertOverlap overlap_;
};

} // namespace moe

int main() {
  const at::Device device(at::kCUDA, 0);
  const c10::cuda::CUDAGuard deviceGuard(device);
  moe::MoeLayer layer(moe::Weights::random(512, 4, device), 0);
  at::Tensor x = at::randn({256, 512}, at::device(device));
  for (int i = 0; i < 8; ++i) {
    x = at::layer_norm(layer.forward(x), {512});
  }
  return x.isfinite().all().item<bool>() ? 0 : 1;
}

// Full-waveform inversion: mirrors the shot gradients to the host while the next shot is propagated.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace fwi {

// Sends flattened gradients to page-locked memory through a dedicated stream.
class GradientMirror {
 public:
  GradientMirror(int64_t numel, c10::DeviceIndex device)
      : device_(device),
        link_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        host_(at::zeros({numel}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true))) {}

  void push(const std::vector<at::Tensor>& gradients) {
    TORCH_CHECK(!gradients.empty(), "no gradients");
    at::Tensor flat = flatten(gradients);
    filled_.record(c10::cuda::getCurrentCUDAStream(device_));
    filled_.block(link_);
    ship(flat);
    ++pushed_;
  }

  // The most recently pushed gradients.
  at::Tensor latest() {
    TORCH_CHECK(pushed_ > 0, "nothing was pushed");
    shipped_.synchronize();
    return host_.clone();
  }

  int64_t pushed() const { return pushed_; }

 private:
  static at::Tensor flatten(const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> parts;
    parts.reserve(gradients.size());
    for (const auto& g : gradients) parts.push_back(g.to(at::kFloat).reshape({-1}));
    return at::cat(parts);
  }

  void ship(const at::Tensor& flat) {
    TORCH_CHECK(flat.numel() == host_.numel(), "size of the gradients changed");
    c10::cuda::CUDAStreamGuard guard(link_);
    host_.copy_(flat, /*non_blocking=*/true);
    shipped_.record(link_);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream link_;
  at::Tensor host_;
  at::cuda::CUDAEvent filled_, shipped_;
  int64_t pushed_ = 0;
};

// Runs all shots; the mirror of shot i overlaps with the propagation of shot i + 1.
at::Tensor invert(at::Tensor velocity, const std::vector<at::Tensor>& shots, double step) {
  TORCH_CHECK(velocity.is_cuda(), "velocity must be on the GPU");
  GradientMirror mirror(velocity.numel(), velocity.device().index());
  at::Tensor total = at::zeros({velocity.numel()}, at::kFloat);
  for (size_t i = 0; i < shots.size(); ++i) {
    at::Tensor residual = at::roll(velocity, {1}, {0}) - shots[i];
    at::Tensor gradient = residual * at::tanh(velocity);
    mirror.push({gradient});
    velocity = velocity - step * gradient;
    if (i % 8 == 7) total += mirror.latest();
  }
  if (mirror.pushed() > 0) total += mirror.latest();
  return total;
}

}  // namespace fwi

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("invert", &fwi::invert, "Gradient descent over shots with host mirror");
  pybind11::class_<fwi::GradientMirror>(m, "GradientMirror")
      .def(pybind11::init<int64_t, c10::DeviceIndex>())
      .def("push", &fwi::GradientMirror::push)
      .def("latest", &fwi::GradientMirror::latest);
}

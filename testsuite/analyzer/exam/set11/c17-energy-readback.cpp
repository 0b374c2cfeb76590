// Geometry optimisation of many small molecules at once. The energies of an iteration are read back while the
// next iteration runs, and only looked at one iteration later.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace geomopt {

// Harmonic bonds between consecutive atoms; coordinates are [molecule, atom, 3].
std::pair<torch::Tensor, torch::Tensor> energyAndForce(const torch::Tensor& x) {
  torch::Tensor bond = x.slice(1, 1) - x.slice(1, 0, -1);
  torch::Tensor length = bond.norm(2, -1, /*keepdim=*/true).clamp_min(1e-6);
  torch::Tensor stretch = length - 1.5;
  torch::Tensor pull = bond / length * stretch;
  torch::Tensor force = torch::zeros_like(x);
  force.slice(1, 0, -1).add_(pull);
  force.slice(1, 1).sub_(pull);
  return {stretch.square().sum({1, 2}).mul_(0.5), force};
}

// Two page-locked buffers that are filled on a side stream in turn.
class DelayedReadback {
 public:
  DelayedReadback(int64_t molecules, c10::DeviceIndex device)
      : device_(device), side_(at::cuda::getStreamFromPool(false, device)) {
    for (Slot& s : slots_) s.host = torch::empty({molecules}, torch::dtype(torch::kFloat32).pinned_memory(true));
  }
  DelayedReadback(const DelayedReadback&) = delete;
  ~DelayedReadback() { side_.synchronize(); }

  // Starts to read `energies`, which the current stream has produced.
  void push(const torch::Tensor& energies) {
    Slot& s = slots_[turn_];
    const auto current = at::cuda::getCurrentCUDAStream(device_);
    produced_.record(current);
    produced_.block(side_);
    energies.record_stream(side_);
    const c10::cuda::CUDAStreamGuard guard(side_);
    s.host.copy_(energies, /*non_blocking=*/true);
    s.landed.record(side_);
    s.filled = true;
    turn_ ^= 1;
  }

  // Sum of the energies that were pushed one push() before the last, or infinity.
  double previousTotal() {
    Slot& s = slots_[turn_];
    if (!s.filled) return std::numeric_limits<double>::infinity();
    s.landed.synchronize();
    return total(s.host);
  }

 private:
  struct Slot {
    torch::Tensor host;
    at::cuda::CUDAEvent landed;
    bool filled = false;
  };

  static double total(const torch::Tensor& t) {
    const float* e = t.data_ptr<float>();
    double sum = 0;
    for (int64_t i = 0; i < t.numel(); ++i) sum += e[i];
    return sum;
  }

  c10::DeviceIndex device_;
  at::cuda::CUDAStream side_;
  at::cuda::CUDAEvent produced_;
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;
};

torch::Tensor relax(torch::Tensor x, double rate, double tolerance, int64_t maxIterations) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 3 && x.scalar_type() == torch::kFloat32);
  const c10::cuda::CUDAGuard guard(x.device());
  torch::NoGradGuard noGrad;
  DelayedReadback readback(x.size(0), x.device().index());
  double last = std::numeric_limits<double>::infinity();
  for (int64_t it = 0; it < maxIterations; ++it) {
    auto [energy, force] = energyAndForce(x);
    readback.push(energy);
    x.add_(force, rate);
    const double total = readback.previousTotal();
    if (std::isfinite(last) && std::abs(last - total) < tolerance) break;
    last = total;
  }
  return x;
}

}  // namespace geomopt

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relax", &geomopt::relax); }

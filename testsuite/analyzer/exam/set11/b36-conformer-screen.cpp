// Screening of conformers: cheap energies on the GPU, then the CPU decides which conformers are worth an
// expensive calculation.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace screening {

// Coulomb plus a soft repulsion; coordinates are [conformer, atom, 3].
torch::Tensor roughEnergies(const torch::Tensor& coords, const torch::Tensor& charges) {
  torch::Tensor delta = coords.unsqueeze(2) - coords.unsqueeze(1);
  torch::Tensor r = (delta * delta).sum(-1).add_(1e-3).sqrt_();
  torch::Tensor q = charges.unsqueeze(0) * charges.unsqueeze(1);
  torch::Tensor pair = q / r + r.pow(-6);
  return pair.sum({1, 2}).mul_(0.5);
}

struct Pick {
  int64_t conformer;
  float energy;
};

class ConformerScreen {
 public:
  ConformerScreen(torch::Tensor charges, int64_t maxConformers, float window)
      : charges_(std::move(charges)), window_(window) {
    host_ = torch::empty({maxConformers}, torch::dtype(torch::kFloat32).pinned_memory(true));
  }

  // All conformers within the energy window above the lowest, best first.
  std::vector<Pick> run(const torch::Tensor& coords) {
    TORCH_CHECK(coords.is_cuda() && coords.dim() == 3 && coords.size(0) <= host_.size(0));
    torch::Tensor energies = download(roughEnergies(coords, charges_));
    return pick(energies);
  }

 private:
  torch::Tensor download(const torch::Tensor& energies) {
    torch::Tensor dst = host_.narrow(0, 0, energies.size(0));
    dst.copy_(energies.to(torch::kFloat32), /*non_blocking=*/true);
    return dst;
  }

  std::vector<Pick> pick(const torch::Tensor& energies) const {
    const float* e = energies.data_ptr<float>();
    const int64_t n = energies.numel();
    float lowest = std::numeric_limits<float>::max();
    for (int64_t i = 0; i < n; ++i) lowest = std::min(lowest, e[i]);
    std::vector<Pick> picks;
    for (int64_t i = 0; i < n; ++i)
      if (e[i] <= lowest + window_) picks.push_back({i, e[i]});
    std::sort(picks.begin(), picks.end(), [](const Pick& a, const Pick& b) { return a.energy < b.energy; });
    return picks;
  }

  torch::Tensor charges_;
  torch::Tensor host_;
  float window_;
};

// Screens the batches of one molecule; conformer numbers count through all batches.
std::vector<int64_t> screenMolecule(const std::vector<torch::Tensor>& batches, const torch::Tensor& charges,
                                    double window) {
  int64_t largest = 0;
  for (const torch::Tensor& b : batches) largest = std::max(largest, b.size(0));
  ConformerScreen screen(charges, largest, static_cast<float>(window));
  std::vector<int64_t> kept;
  int64_t offset = 0;
  for (const torch::Tensor& b : batches) {
    for (const Pick& p : screen.run(b)) kept.push_back(offset + p.conformer);
    offset += b.size(0);
  }
  return kept;
}

}  // namespace screening

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("screen_molecule", &screening::screenMolecule, "Conformers worth a full calculation");
}

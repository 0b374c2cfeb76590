// Population control for diffusion Monte Carlo walkers, exposed to Python as a small extension.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace dmc {

struct Plan {
  std::vector<int64_t> copies;
  int64_t total = 0;
};

// Keeps the number of walkers per block near its target. Generation g+1 is planned on the host
// from the survivors of generation g.
class PopulationControl {
 public:
  PopulationControl(int64_t blocks, int64_t target)
      : blocks_(blocks),
        target_(target),
        survivorsCpu_(torch::empty({blocks}, torch::TensorOptions().dtype(torch::kInt64).pinned_memory(true))) {
    survivorsCpu_.fill_(target);
  }

  // weights: [blocks, walkers] on the GPU.
  torch::Tensor branch(const torch::Tensor& weights, double cutoff) {
    TORCH_CHECK(weights.is_cuda() && weights.dim() == 2 && weights.size(0) == blocks_, "weights must be [blocks, walkers]");
    auto noise = torch::rand_like(weights);
    auto copies = torch::floor(weights + noise);
    return torch::where(weights < cutoff, torch::zeros_like(copies), copies).to(torch::kInt64);
  }

  // Called after the last kernel of a generation has been queued.
  void endGeneration(const torch::Tensor& copies) {
    c10::cuda::CUDAGuard guard(copies.device());
    auto survivors = copies.sum(1);
    survivorsCpu_.copy_(survivors, /*non_blocking=*/true);
    ++generation_;
  }

  // Host part of the next generation; runs while the drift kernels are still busy.
  Plan planNext() {
    Plan plan;
    plan.copies.reserve(static_cast<size_t>(blocks_));
    const int64_t* alive = survivorsCpu_.data_ptr<int64_t>();
    for (int64_t b = 0; b < blocks_; ++b) {
      const double ratio = static_cast<double>(target_) / static_cast<double>(std::max<int64_t>(alive[b], 1));
      const int64_t want = std::llround(static_cast<double>(target_) * std::clamp(ratio, 0.5, 2.0));
      plan.copies.push_back(want);
      plan.total += want;
    }
    return plan;
  }

  int64_t generation() const { return generation_; }

 private:
  int64_t blocks_;
  int64_t target_;
  int64_t generation_ = 0;
  torch::Tensor survivorsCpu_;
};

torch::Tensor drift(const torch::Tensor& walkers, const torch::Tensor& force, double tau) {
  auto step = torch::randn_like(walkers).mul_(std::sqrt(tau));
  return walkers + force * tau + step;
}

double runGenerations(torch::Tensor walkers, torch::Tensor weights, torch::Tensor force, int64_t target, int64_t generations) {
  PopulationControl control(weights.size(0), target);
  double population = 0;
  for (int64_t g = 0; g < generations; ++g) {
    walkers = drift(walkers, force, 0.01);
    auto copies = control.branch(weights, 0.25);
    control.endGeneration(copies);

    Plan plan = control.planNext();
    population = static_cast<double>(plan.total);
    weights = weights * (static_cast<double>(target) * static_cast<double>(weights.size(0)) / std::max(population, 1.0));
  }
  return population;
}

}  // namespace dmc

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run_generations", &dmc::runGenerations, "Runs a number of DMC generations");
  m.def("drift", &dmc::drift);
}

// Short-range pair forces for a coarse-grained fluid as a PyTorch operator.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace cgfluid {

template <typename scalar_t>
__global__ void pairForceKernel(const scalar_t* __restrict__ position, const int64_t* __restrict__ pairs,
                                scalar_t* __restrict__ force, scalar_t* __restrict__ energy,
                                int64_t pairCount, scalar_t cutoff, scalar_t stiffness) {
  const int64_t p = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= pairCount) return;
  const int64_t i = pairs[2 * p];
  const int64_t j = pairs[2 * p + 1];
  scalar_t d[3];
  scalar_t r2 = 0;
  for (int k = 0; k < 3; ++k) {
    d[k] = position[3 * i + k] - position[3 * j + k];
    r2 += d[k] * d[k];
  }
  if (r2 >= cutoff * cutoff || r2 <= scalar_t(0)) return;
  const scalar_t r = sqrt(r2);
  const scalar_t overlap = cutoff - r;
  const scalar_t f = stiffness * overlap / r;
  for (int k = 0; k < 3; ++k) {
    atomicAdd(&force[3 * i + k], f * d[k]);
    atomicAdd(&force[3 * j + k], -f * d[k]);
  }
  atomicAdd(energy, scalar_t(0.5) * stiffness * overlap * overlap);
}

// Launch geometry and queue for a one-dimensional range on a tensor's device.
struct Launch {
  unsigned blocks;
  unsigned threads;
  cudaStream_t stream;
};

Launch launchFor(const at::Tensor& like, int64_t items) {
  constexpr unsigned kThreads = 128;
  const auto blocks = static_cast<unsigned>((items + kThreads - 1) / kThreads);
  return Launch{blocks, kThreads, c10::cuda::getCurrentCUDAStream(like.get_device()).stream()};
}

void checkInputs(const at::Tensor& position, const at::Tensor& pairs) {
  TORCH_CHECK(position.is_cuda() && pairs.is_cuda(), "inputs must be CUDA tensors");
  TORCH_CHECK(position.dim() == 2 && position.size(1) == 3, "position must be [N, 3]");
  TORCH_CHECK(pairs.dim() == 2 && pairs.size(1) == 2, "pairs must be [P, 2]");
  TORCH_CHECK(pairs.scalar_type() == at::kLong, "pairs must be int64");
}

std::tuple<at::Tensor, at::Tensor> pairForces(const at::Tensor& position, const at::Tensor& pairs,
                                              double cutoff, double stiffness) {
  checkInputs(position, pairs);
  const c10::cuda::CUDAGuard guard(position.device());
  const auto x = position.contiguous();
  const auto p = pairs.contiguous();
  auto force = at::zeros_like(x);
  auto energy = at::zeros({1}, x.options());
  const int64_t count = p.size(0);
  if (count == 0) return {force, energy};

  const Launch launch = launchFor(x, count);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pair_forces", [&] {
    pairForceKernel<scalar_t><<<launch.blocks, launch.threads, 0, launch.stream>>>(
        x.data_ptr<scalar_t>(), p.data_ptr<int64_t>(), force.data_ptr<scalar_t>(),
        energy.data_ptr<scalar_t>(), count, static_cast<scalar_t>(cutoff),
        static_cast<scalar_t>(stiffness));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {force, energy};
}

// Velocity Verlet with replicas on side streams, so that small systems overlap.
void relaxReplicas(std::vector<at::Tensor>& positions, const at::Tensor& pairs, int64_t steps,
                   double dt) {
  for (auto& position : positions) {
    const auto home = c10::cuda::getCurrentCUDAStream(position.get_device());
    const auto side = c10::cuda::getStreamFromPool(false, position.get_device());
    at::cuda::CUDAEvent ready, done;
    ready.record(home);
    ready.block(side);
    {
      c10::cuda::CUDAStreamGuard guard(side);
      for (int64_t s = 0; s < steps; ++s) {
        auto [force, energy] = pairForces(position, pairs, 1.0, 25.0);
        position.add_(force, dt * dt);
      }
      done.record(side);
    }
    done.block(home);
  }
}

}  // namespace cgfluid

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("pair_forces", &cgfluid::pairForces);
  m.def("relax_replicas", &cgfluid::relaxReplicas);
}

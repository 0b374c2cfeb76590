// Streaming statistics for simulation ensembles.  Members arrive as lists of tensors; the
// moments are kept on a separate stream so that the solver does not wait for them.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ensemble {

__global__ void updateMoments(const float* __restrict__ x, int64_t n, float* sum, float* sumSq) {
  int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
    float v = x[i];
    sum[i] += v;
    sumSq[i] += v * v;
  }
}

at::Tensor flatten(const std::vector<at::Tensor>& fields) {
  std::vector<at::Tensor> parts;
  parts.reserve(fields.size());
  for (const at::Tensor& f : fields) parts.push_back(f.reshape({-1}));
  return at::cat(parts);
}

class MomentAccumulator {
 public:
  MomentAccumulator(int64_t cells, c10::Device device)
      : side_(at::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {
    c10::cuda::CUDAStreamGuard guard(side_);
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
    sum_ = at::zeros({cells}, options);
    sumSq_ = at::zeros({cells}, options);
  }

  // Adds one ensemble member.  Returns at once; the caller goes on with its next time step.
  void add(const std::vector<at::Tensor>& fields) {
    const at::Tensor flat = flatten(fields);
    TORCH_CHECK(flat.numel() == sum_.numel(), "member has ", flat.numel(), " cells");
    at::cuda::CUDAEvent packed;
    packed.record(at::cuda::getCurrentCUDAStream());
    packed.block(side_);
    launchUpdate(flat);
    ++members_;
  }

  std::vector<at::Tensor> moments() {
    TORCH_CHECK(members_ > 0, "no members yet");
    const auto current = at::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent updated;
    updated.record(side_);
    updated.block(current);
    at::Tensor mean = sum_ / static_cast<double>(members_);
    at::Tensor variance = sumSq_ / static_cast<double>(members_) - mean * mean;
    at::cuda::CUDAEvent read;
    read.record(current);
    read.block(side_);
    return {mean, variance};
  }

 private:
  void launchUpdate(const at::Tensor& flat) {
    c10::cuda::CUDAStreamGuard guard(side_);
    const int64_t n = flat.numel();
    const int blocks = static_cast<int>(std::min<int64_t>((n + 255) / 256, 1024));
    updateMoments<<<blocks, 256, 0, side_.stream()>>>(
        flat.data_ptr<float>(), n, sum_.data_ptr<float>(), sumSq_.data_ptr<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  c10::cuda::CUDAStream side_;
  at::Tensor sum_, sumSq_;
  int64_t members_ = 0;
};

std::vector<at::Tensor> ensembleMoments(at::Tensor state, int64_t members, double noise) {
  MomentAccumulator moments(2 * state.numel(), state.device());
  for (int64_t m = 0; m < members; ++m) {
    at::Tensor u = state + noise * at::randn_like(state);
    at::Tensor v = at::tanh(u) * 0.5;
    moments.add({u, v});
    state = 0.9 * state + 0.1 * u;
  }
  return moments.moments();
}

}  // namespace ensemble

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("ensemble_moments", &ensemble::ensembleMoments);
}

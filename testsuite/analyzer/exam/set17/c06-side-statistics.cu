// Gradient statistics on a side stream.  No tensor is marked with record_stream here: before a
// function returns, each of the two streams waits for what the other did with its memory.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gradstats {

__global__ void squares(const float* __restrict__ g, int64_t n, float* sum) {
  float local = 0.0f;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
    local += g[i] * g[i];
  }
  atomicAdd(sum, local);
}

__global__ void rescale(float* g, int64_t n, const float* sum, float limit) {
  const float norm = sqrtf(*sum);
  const float factor = norm > limit ? limit / norm : 1.0f;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += stride) {
    g[i] *= factor;
  }
}

int gridFor(int64_t n) { return static_cast<int>(std::clamp<int64_t>((n + 255) / 256, 1, 512)); }

void follow(c10::cuda::CUDAStream later, c10::cuda::CUDAStream earlier) {
  at::cuda::CUDAEvent event;
  event.record(earlier);
  event.block(later);
}

class Clipper {
 public:
  explicit Clipper(double limit)
      : limit_(static_cast<float>(limit)),
        side_(at::cuda::getStreamFromPool()),
        report_(at::empty({1}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true))) {}

  ~Clipper() { side_.synchronize(); }

  // Scales the gradients in place.  They were allocated on the caller's current stream.
  void clip(std::vector<at::Tensor>& grads) {
    const auto main = at::cuda::getCurrentCUDAStream();
    follow(side_, main);
    at::Tensor total = measure(grads);
    follow(main, side_);
    apply(grads, total, main);
    // `total` belongs to the side stream and dies here; its block may be reused there at once.
    follow(side_, main);
  }

  // Norm of the last clip(), on the host.
  float lastNorm() {
    copied_.synchronize();
    return std::sqrt(report_.data_ptr<float>()[0]);
  }

 private:
  at::Tensor measure(const std::vector<at::Tensor>& grads) {
    c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor total = at::zeros({1}, grads.front().options());
    for (const at::Tensor& g : grads) {
      squares<<<gridFor(g.numel()), 256, 0, side_>>>(g.data_ptr<float>(), g.numel(), total.data_ptr<float>());
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    // The host looks at the report in lastNorm() only, so that a new copy may follow at once.
    report_.copy_(total, /*non_blocking=*/true);
    copied_.record(side_);
    return total;
  }

  void apply(std::vector<at::Tensor>& grads, const at::Tensor& total, c10::cuda::CUDAStream stream) {
    for (at::Tensor& g : grads) {
      rescale<<<gridFor(g.numel()), 256, 0, stream>>>(g.data_ptr<float>(), g.numel(),
                                                      total.data_ptr<float>(), limit_);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
  }

  float limit_;
  c10::cuda::CUDAStream side_;
  at::Tensor report_;
  at::cuda::CUDAEvent copied_;
};

// A few steps of descent on 0.5 * |w - target|^2.
double descend(at::Tensor weights, const at::Tensor& target, int64_t steps, double rate) {
  Clipper clipper(1.0);
  double sum = 0.0;
  for (int64_t s = 0; s < steps; ++s) {
    std::vector<at::Tensor> grads{(weights - target).contiguous()};
    clipper.clip(grads);
    weights.sub_(grads[0], rate);
    sum += clipper.lastNorm();
  }
  return sum / static_cast<double>(std::max<int64_t>(steps, 1));
}

}  // namespace gradstats

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("descend", &gradstats::descend); }

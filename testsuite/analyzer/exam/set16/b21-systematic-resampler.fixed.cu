// Systematic resampling for a particle filter, as a PyTorch extension.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>

namespace pf {

__global__ void pickAncestors(const float* __restrict__ cdf, std::int64_t* __restrict__ ancestor, int n, float offset) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float u = (i + offset) / n * cdf[n - 1];
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] < u)
      lo = mid + 1;
    else
      hi = mid;
  }
  ancestor[i] = lo;
}

struct LaunchShape {
  int blocks;
  int threads;
  static LaunchShape forCount(std::int64_t n, int threads = 256) {
    return {static_cast<int>((n + threads - 1) / threads), threads};
  }
};

// Indices of the surviving particles for a cumulative weight vector.
at::Tensor ancestors(const at::Tensor& cdf, double offset) {
  TORCH_CHECK(cdf.is_cuda() && cdf.is_contiguous(), "cdf must be a contiguous CUDA tensor");
  TORCH_CHECK(cdf.scalar_type() == at::kFloat, "cdf must be float");
  c10::cuda::CUDAGuard device(cdf.device());
  const std::int64_t n = cdf.numel();
  at::Tensor index = at::empty({n}, cdf.options().dtype(at::kLong));
  const LaunchShape shape = LaunchShape::forCount(n);
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  pickAncestors<<<shape.blocks, shape.threads, 0, stream>>>(cdf.data_ptr<float>(), index.data_ptr<std::int64_t>(),
                                                            static_cast<int>(n), static_cast<float>(offset));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return index;
}

// A filter works on a stream of its own, so that several robots can be tracked at a time.
class ParticleFilter {
 public:
  ParticleFilter(std::int64_t particles, std::int64_t stateSize, std::int64_t device)
      : stream_(c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(device))) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    auto options = at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, static_cast<c10::DeviceIndex>(device));
    state_ = at::zeros({particles, stateSize}, options);
    weight_ = at::full({particles}, 1.0 / static_cast<double>(particles), options);
  }

  // `measurement` is a host tensor.
  void update(const at::Tensor& measurement, double noise) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    predict(noise);
    weigh(measurement.to(state_.device()));
    resample();
  }

  at::Tensor mean() {
    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor m = state_.mean(0).cpu();
    return m;
  }

 private:
  void predict(double noise) { state_.add_(at::randn_like(state_), noise); }

  void weigh(const at::Tensor& measurement) {
    at::Tensor residual = state_.slice(1, 0, measurement.numel()) - measurement;
    at::Tensor logLikelihood = residual.square().sum(1).mul_(-0.5);
    weight_ = at::softmax(logLikelihood, 0);
  }

  void resample() {
    at::Tensor cdf = at::cumsum(weight_, 0);
    at::Tensor index = ancestors(cdf, 0.5);
    state_ = state_.index_select(0, index);
    weight_.fill_(1.0 / static_cast<double>(weight_.numel()));
  }

  c10::cuda::CUDAStream stream_;
  at::Tensor state_;
  at::Tensor weight_;
};

}  // namespace pf

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("ancestors", &pf::ancestors);
  py::class_<pf::ParticleFilter>(m, "ParticleFilter")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t>())
      .def("update", &pf::ParticleFilter::update)
      .def("mean", &pf::ParticleFilter::mean);
}

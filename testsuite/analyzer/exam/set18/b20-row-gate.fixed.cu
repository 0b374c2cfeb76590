// Row gating for a recommendation model: every row is scaled by a squashed
// function of its own norm. Works on PyTorch's current stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <vector>

namespace {

__global__ void rowNorms(const float* x, float* norm, int cols) {
  const float* row = x + static_cast<size_t>(blockIdx.x) * cols;
  float acc = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) acc += row[c] * row[c];
  for (int d = 16; d > 0; d /= 2) acc += __shfl_down_sync(0xffffffffu, acc, d);
  if (threadIdx.x == 0) norm[blockIdx.x] = sqrtf(acc);
}

template <typename Op>
__global__ void eachElement(int64_t n, Op op) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) op(i);
}

struct GateOp {
  const float* x;
  const float* norm;
  float* y;
  int cols;
  float sharpness;
  __device__ void operator()(int64_t i) const {
    float g = 1.0f / (1.0f + expf(-sharpness * norm[i / cols]));
    y[i] = g * x[i];
  }
};

template <typename Op>
void launchEach(int64_t n, const Op& op, cudaStream_t stream) {
  constexpr int kBlock = 256;
  const unsigned grid = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  eachElement<<<grid, kBlock, 0, stream>>>(n, op);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void checkInput(const at::Tensor& x) {
  TORCH_CHECK(x.is_cuda() && x.scalar_type() == at::kFloat && x.dim() == 2, "expected a float CUDA matrix");
  TORCH_CHECK(x.is_contiguous() && x.numel() > 0, "expected a contiguous, non-empty matrix");
}

}  // namespace

at::Tensor gate_rows(const at::Tensor& x, double sharpness) {
  checkInput(x);
  c10::cuda::CUDAGuard device(x.device());
  auto stream = c10::cuda::getCurrentCUDAStream();
  const int cols = static_cast<int>(x.size(1));
  at::Tensor norm = at::empty({x.size(0)}, x.options());
  at::Tensor y = at::empty_like(x);
  rowNorms<<<static_cast<unsigned>(x.size(0)), 32, 0, stream>>>(x.data_ptr<float>(), norm.data_ptr<float>(), cols);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  GateOp op{x.data_ptr<float>(), norm.data_ptr<float>(), y.data_ptr<float>(), cols, static_cast<float>(sharpness)};
  launchEach(x.numel(), op, stream);
  return y;
}

// Gates the members of a feature list side by side on streams of the pool; the
// caller's stream is ordered after all of them.
std::vector<at::Tensor> gate_features(const std::vector<at::Tensor>& features, double sharpness) {
  auto caller = c10::cuda::getCurrentCUDAStream();
  at::cuda::CUDAEvent start;
  start.record(caller);
  std::vector<at::Tensor> out;
  out.reserve(features.size());
  for (const auto& f : features) {
    auto side = c10::cuda::getStreamFromPool();
    start.block(side);
    at::cuda::CUDAEvent done;
    {
      c10::cuda::CUDAStreamGuard guard(side);
      out.push_back(gate_rows(f, sharpness));
      done.record(side);
    }
    f.record_stream(side.unwrap());
    out.back().record_stream(caller.unwrap());
    done.block(caller);
  }
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("gate_rows", &gate_rows);
  m.def("gate_features", &gate_features);
}

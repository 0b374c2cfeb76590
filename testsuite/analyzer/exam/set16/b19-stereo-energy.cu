// Frame energy of audio tensors in two passes, for a source-separation model.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace {

constexpr int kThreads = 128;

// Workspaces live as long as the process; allocating one per call costs more than the kernels.
class WorkspaceCache {
 public:
  static WorkspaceCache& instance() {
    static WorkspaceCache cache;
    return cache;
  }

  at::Tensor get(const at::Tensor& like, int64_t count) {
    std::lock_guard<std::mutex> lock(m_);
    const Key key{like.get_device(), count};
    auto it = cache_.find(key);
    if (it == cache_.end()) it = cache_.emplace(key, at::empty({count}, like.options())).first;
    return it->second;
  }

 private:
  using Key = std::tuple<int64_t, int64_t>;
  std::mutex m_;
  std::map<Key, at::Tensor> cache_;
};

__global__ void partialEnergy(const float* x, float* partial, int n, int chunk) {
  __shared__ float sum[kThreads];
  float acc = 0.f;
  const int begin = blockIdx.x * chunk, end = min(n, begin + chunk);
  for (int i = begin + threadIdx.x; i < end; i += kThreads) acc += x[i] * x[i];
  sum[threadIdx.x] = acc;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) sum[threadIdx.x] += sum[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sum[0];
}

__global__ void runningEnergy(const float* partial, float* out, int chunks) {
  float acc = 0.f;
  for (int i = 0; i < chunks; ++i) {
    acc += partial[i];
    if (threadIdx.x == 0) out[i] = acc;
  }
}

// Energy up to the end of each chunk, on the current stream.
at::Tensor prefixEnergy(const at::Tensor& signal, int64_t chunk) {
  TORCH_CHECK(signal.is_cuda() && signal.scalar_type() == at::kFloat && signal.dim() == 1);
  const c10::cuda::CUDAGuard onDevice(signal.device());
  const at::Tensor x = signal.contiguous();
  const int64_t chunks = (x.numel() + chunk - 1) / chunk;
  at::Tensor out = at::empty({chunks}, x.options());
  at::Tensor partial = WorkspaceCache::instance().get(x, chunks);
  auto stream = at::cuda::getCurrentCUDAStream();
  partialEnergy<<<chunks, kThreads, 0, stream>>>(x.data_ptr<float>(), partial.data_ptr<float>(), x.numel(), chunk);
  runningEnergy<<<1, 32, 0, stream>>>(partial.data_ptr<float>(), out.data_ptr<float>(), chunks);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// Both channels at once; the right one runs on a side stream.
std::vector<at::Tensor> stereoEnergy(const at::Tensor& left, const at::Tensor& right, int64_t chunk) {
  const auto main = at::cuda::getCurrentCUDAStream(left.get_device());
  const auto side = at::cuda::getStreamFromPool(/*isHighPriority=*/false, left.get_device());
  at::cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);

  at::Tensor l = prefixEnergy(left, chunk);
  at::Tensor r;
  {
    c10::cuda::CUDAStreamGuard onSide(side);
    r = prefixEnergy(right, chunk);
  }
  join.record(side);
  join.block(main);
  r.record_stream(main);
  return {l, r};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("prefix_energy", &prefixEnergy, py::arg("signal"), py::arg("chunk") = 4096);
  m.def("stereo_energy", &stereoEnergy, py::arg("left"), py::arg("right"), py::arg("chunk") = 4096);
}

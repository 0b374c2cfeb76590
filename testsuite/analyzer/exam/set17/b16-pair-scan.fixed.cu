// Cumulative coverage over genome intervals.  Block totals go through a scratch buffer that
// is kept between calls, because the allocator shows up in profiles of short chromosomes.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace coverage {

constexpr int kThreads = 256;

__global__ void blockTotals(const float* __restrict__ x, int64_t n, float* totals) {
  __shared__ float part[kThreads];
  int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = part[0];
}

__global__ void scanWithOffsets(const float* __restrict__ x, int64_t n, const float* __restrict__ totals,
                                float* out) {
  __shared__ float part[kThreads];
  __shared__ float offset;
  int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  if (threadIdx.x == 0) {
    offset = 0.0f;
    for (int b = 0; b < blockIdx.x; ++b) offset += totals[b];
  }
  __syncthreads();
  float sum = offset;
  for (int t = 0; t <= threadIdx.x; ++t) sum += part[t];
  if (i < n) out[i] = sum;
}

class ScratchCache {
 public:
  static ScratchCache& instance() {
    static auto* cache = new ScratchCache();
    return *cache;
  }

  at::Tensor floats(int64_t count, c10::Device device) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Key key = makeKey(count, device);
    auto it = buffers_.find(key);
    if (it == buffers_.end()) {
      const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
      it = buffers_.emplace(key, at::empty({count}, options)).first;
    }
    return it->second;
  }

 private:
  using Key = std::tuple<int, int64_t, int64_t>;

  static Key makeKey(int64_t count, c10::Device device) {
    return Key(device.index(), count, at::cuda::getCurrentCUDAStream(device.index()).id());
  }

  std::mutex mutex_;
  std::map<Key, at::Tensor> buffers_;
};

// Runs on the current stream.
at::Tensor cumulative(const at::Tensor& depth) {
  TORCH_CHECK(depth.is_cuda() && depth.is_contiguous() && depth.dim() == 1 && depth.numel() > 0);
  const auto stream = at::cuda::getCurrentCUDAStream();
  const int64_t n = depth.numel();
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  at::Tensor totals = ScratchCache::instance().floats(blocks, depth.device());
  at::Tensor out = at::empty_like(depth);
  blockTotals<<<blocks, kThreads, 0, stream>>>(depth.data_ptr<float>(), n, totals.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  scanWithOffsets<<<blocks, kThreads, 0, stream>>>(depth.data_ptr<float>(), n, totals.data_ptr<float>(),
                                                   out.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// Both strands side by side.
class StrandScanner {
 public:
  StrandScanner() : forward_(at::cuda::getStreamFromPool()), reverse_(at::cuda::getStreamFromPool()) {}

  std::pair<at::Tensor, at::Tensor> scan(const at::Tensor& forward, const at::Tensor& reverse) {
    TORCH_CHECK(forward.sizes() == reverse.sizes(), "strands of different length");
    const auto caller = at::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent ready;
    ready.record(caller);
    at::Tensor f = strand(forward, forward_, ready);
    at::Tensor r = strand(reverse, reverse_, ready);
    join(f, forward_, caller);
    join(r, reverse_, caller);
    return {f, r};
  }

 private:
  static at::Tensor strand(const at::Tensor& depth, c10::cuda::CUDAStream stream,
                           at::cuda::CUDAEvent& ready) {
    ready.block(stream);
    c10::cuda::CUDAStreamGuard guard(stream);
    at::Tensor out = cumulative(depth);
    depth.record_stream(stream);
    return out;
  }

  static void join(const at::Tensor& result, c10::cuda::CUDAStream from, c10::cuda::CUDAStream to) {
    at::cuda::CUDAEvent done;
    done.record(from);
    done.block(to);
    result.record_stream(to);
  }

  c10::cuda::CUDAStream forward_, reverse_;
};

}  // namespace coverage

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<coverage::StrandScanner>(m, "StrandScanner")
      .def(py::init<>())
      .def("scan", &coverage::StrandScanner::scan);
}

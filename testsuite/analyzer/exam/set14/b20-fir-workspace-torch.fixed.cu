// Polyphase resampler for speech front ends: a two-pass op with a staging
// buffer that is kept between calls.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace resample {

using Key = std::pair<c10::cuda::CUDAStream, int64_t>;

struct KeyLess {
  bool operator()(const Key& a, const Key& b) const {
    return std::make_tuple(a.first.device_index(), a.first.id(), a.second) <
           std::make_tuple(b.first.device_index(), b.first.id(), b.second);
  }
};

class StagingCache {
 public:
  static StagingCache& instance() {
    static StagingCache cache;
    return cache;
  }

  at::Tensor get(c10::cuda::CUDAStream stream, int64_t elements) {
    std::lock_guard<std::mutex> lk(mu_);
    Key key{stream, elements};
    auto it = cache_.find(key);
    if (it == cache_.end()) {
      auto opts = at::TensorOptions().device(at::kCUDA, stream.device_index()).dtype(at::kFloat);
      it = cache_.emplace(key, at::empty({elements}, opts)).first;
    }
    return it->second;
  }

 private:
  std::mutex mu_;
  std::map<Key, at::Tensor, KeyLess> cache_;
};

__global__ void upsampleKernel(const float* __restrict__ in, float* __restrict__ staged, int64_t n,
                               int up) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n * up) staged[i] = (i % up == 0) ? in[i / up] * up : 0.f;
}

__global__ void firKernel(const float* __restrict__ staged, const float* __restrict__ taps,
                          float* __restrict__ out, int64_t n, int64_t nOut, int nTaps, int down) {
  int64_t o = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (o >= nOut) return;
  float acc = 0.f;
  int64_t centre = o * down;
  for (int t = 0; t < nTaps; ++t) {
    int64_t j = centre - t;
    if (j >= 0 && j < n) acc += taps[t] * staged[j];
  }
  out[o] = acc;
}

static int gridFor(int64_t n) { return static_cast<int>((n + 255) / 256); }

static void stageInput(const at::Tensor& audio, const at::Tensor& staged, int up, cudaStream_t s) {
  const int64_t n = audio.numel();
  upsampleKernel<<<gridFor(n * up), 256, 0, s>>>(audio.const_data_ptr<float>(),
                                                 staged.mutable_data_ptr<float>(), n, up);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

static void filter(const at::Tensor& staged, const at::Tensor& taps, at::Tensor& out, int down,
                   cudaStream_t s) {
  firKernel<<<gridFor(out.numel()), 256, 0, s>>>(
      staged.const_data_ptr<float>(), taps.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
      staged.numel(), out.numel(), static_cast<int>(taps.numel()), down);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor resample(const at::Tensor& audio, const at::Tensor& taps, int64_t up, int64_t down) {
  TORCH_CHECK(audio.is_cuda() && audio.is_contiguous() && audio.scalar_type() == at::kFloat);
  TORCH_CHECK(taps.device() == audio.device() && taps.is_contiguous());
  const c10::cuda::CUDAGuard guard(audio.device());
  auto stream = c10::cuda::getCurrentCUDAStream();
  const int64_t high = audio.numel() * up;
  at::Tensor staged = StagingCache::instance().get(stream, high);
  at::Tensor out = at::empty({(high + down - 1) / down}, audio.options());
  stageInput(audio, staged, static_cast<int>(up), stream);
  filter(staged, taps, out, static_cast<int>(down), stream);
  return out;
}

// Left and right channel, each on a stream of its own.
std::vector<at::Tensor> resampleStereo(const at::Tensor& left, const at::Tensor& right,
                                       const at::Tensor& taps, int64_t up, int64_t down) {
  const c10::cuda::CUDAGuard guard(left.device());
  auto current = c10::cuda::getCurrentCUDAStream();
  at::cuda::CUDAEvent begin;
  begin.record(current);
  std::array<at::cuda::CUDAEvent, 2> end;
  std::vector<at::Tensor> result;
  for (const at::Tensor& channel : {left, right}) {
    auto side = c10::cuda::getStreamFromPool();
    begin.block(side);
    {
      c10::cuda::CUDAStreamGuard sideGuard(side);
      result.push_back(resample(channel, taps, up, down));
    }
    result.back().record_stream(current);
    end[result.size() - 1].record(side);
  }
  for (auto& e : end) e.block(current);
  return result;
}

}  // namespace resample

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("resample", &resample::resample);
  m.def("resample_stereo", &resample::resampleStereo);
}

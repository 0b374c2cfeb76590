// List-wise attention scorer for search results (extension module). The kernels need a staging area for the projected keys that
// is too large for shared memory; it is kept between calls.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace {

constexpr int64_t kMaxItems = 4096;
constexpr int64_t kKeyWidth = 128;

__global__ void project_keys(const float* items, float* keys, int64_t n, int64_t width) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n * width) keys[i] = items[i] * 0.125f;
}

__global__ void attend(const float* items, const float* keys, float* scores, int64_t n, int64_t width) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float best = 0.f;
  for (int64_t j = 0; j < n; ++j) {
    float dot = 0.f;
    for (int64_t d = 0; d < width; ++d) dot += items[i * width + d] * keys[j * width + d];
    best = fmaxf(best, dot);
  }
  scores[i] = best;
}

class StagingCache {
 public:
  static StagingCache& instance() {
    static StagingCache cache;
    return cache;
  }

  at::Tensor get(const at::Tensor& like) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto key = std::make_pair(static_cast<int64_t>(like.get_device()),
                                    at::cuda::getCurrentCUDAStream(like.get_device()).id());
    auto it = buffers_.find(key);
    if (it == buffers_.end()) {
      it = buffers_.emplace(key, at::empty({kMaxItems, kKeyWidth}, like.options())).first;
    }
    return it->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int64_t, c10::StreamId>, at::Tensor> buffers_;  // by device and stream
};

void score_into(const at::Tensor& items, at::Tensor& scores) {
  TORCH_CHECK(items.is_cuda() && items.is_contiguous(), "items must be a contiguous CUDA tensor");
  TORCH_CHECK(items.size(0) <= kMaxItems && items.size(1) == kKeyWidth, "unexpected shape");
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  at::Tensor keys = StagingCache::instance().get(items);
  const int64_t n = items.size(0);
  const unsigned blocks = static_cast<unsigned>((n * kKeyWidth + 255) / 256);
  project_keys<<<blocks, 256, 0, stream>>>(items.data_ptr<float>(), keys.data_ptr<float>(), n, kKeyWidth);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  attend<<<static_cast<unsigned>((n + 63) / 64), 64, 0, stream>>>(items.data_ptr<float>(), keys.data_ptr<float>(),
                                                                  scores.data_ptr<float>(), n, kKeyWidth);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

at::Tensor score(const at::Tensor& items) {
  const c10::cuda::CUDAGuard device_guard(items.device());
  at::Tensor scores = at::empty({items.size(0)}, items.options());
  score_into(items, scores);
  return scores;
}

// Scores the organic and the sponsored list side by side.
std::tuple<at::Tensor, at::Tensor> score_pair(const at::Tensor& organic, const at::Tensor& sponsored) {
  const c10::cuda::CUDAGuard device_guard(organic.device());
  const c10::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream();
  const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool(false, organic.get_device());

  at::Tensor organic_scores = at::empty({organic.size(0)}, organic.options());
  at::Tensor sponsored_scores = at::empty({sponsored.size(0)}, sponsored.options());

  at::cuda::CUDAEvent ready;
  ready.record(current);
  ready.block(side);

  score_into(organic, organic_scores);
  {
    const c10::cuda::CUDAStreamGuard stream_guard(side);
    score_into(sponsored, sponsored_scores);
  }

  at::cuda::CUDAEvent done;
  done.record(side);
  done.block(current);
  return {organic_scores, sponsored_scores};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("score", &score);
  m.def("score_pair", &score_pair);
}

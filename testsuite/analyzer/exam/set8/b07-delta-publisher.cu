// Publishes parameter deltas of an actor to the learner as packed half precision.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_fp16.h>
#include <torch/extension.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace actor {

__global__ void packHalf(const float* __restrict__ src, __half* __restrict__ dst, int64_t n, float scale) {
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    dst[i] = __float2half(src[i] * scale);
  }
}

class DeltaPublisher {
 public:
  // `window` is the mapped receive area of the learner; it stays registered for our lifetime.
  DeltaPublisher(at::Tensor window, double scale)
      : window_(std::move(window)),
        scale_(static_cast<float>(scale)),
        link_(c10::cuda::getStreamFromPool(true, window_.get_device())) {
    TORCH_CHECK(window_.scalar_type() == at::kHalf && window_.is_contiguous(), "window must be contiguous half");
  }

  ~DeltaPublisher() { link_.synchronize(); }

  // Each bucket is one contiguous range of the window.
  void publish(const std::vector<std::vector<at::Tensor>>& buckets) {
    c10::cuda::CUDAGuard guard(window_.device());
    int64_t offset = 0;
    for (const auto& bucket : buckets) {
      if (bucket.empty()) continue;
      at::Tensor flat = flatten(bucket);
      send(flat, offset);
      offset += flat.numel();
    }
    sent_.record(link_);
    published_ = offset;
  }

  // Makes the current stream wait for everything that was published.
  void join() {
    sent_.block(c10::cuda::getCurrentCUDAStream(window_.get_device()));
  }

  int64_t published() const { return published_; }

 private:
  static at::Tensor flatten(const std::vector<at::Tensor>& bucket) {
    std::vector<at::Tensor> rows;
    rows.reserve(bucket.size());
    for (const auto& t : bucket) rows.push_back(t.reshape({-1}).to(at::kFloat));
    return at::cat(rows);
  }

  void send(const at::Tensor& flat, int64_t offset) {
    const int64_t n = flat.numel();
    TORCH_CHECK(offset + n <= window_.numel(), "window too small");
    if (n == 0) return;
    ready_.record(c10::cuda::getCurrentCUDAStream(window_.get_device()));
    ready_.block(link_);
    auto* dst = reinterpret_cast<__half*>(window_.data_ptr<at::Half>()) + offset;
    const int grid = static_cast<int>(std::min<int64_t>((n + 255) / 256, 1024));
    packHalf<<<grid, 256, 0, link_.stream()>>>(flat.data_ptr<float>(), dst, n, scale_);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  at::Tensor window_;
  float scale_;
  c10::cuda::CUDAStream link_;
  at::cuda::CUDAEvent ready_;
  at::cuda::CUDAEvent sent_;
  int64_t published_ = 0;
};

// Splits parameters into buckets of about `limit` elements.
std::vector<std::vector<at::Tensor>> makeBuckets(const std::vector<at::Tensor>& deltas, int64_t limit) {
  std::vector<std::vector<at::Tensor>> buckets(1);
  int64_t fill = 0;
  for (const auto& d : deltas) {
    if (fill > 0 && fill + d.numel() > limit) {
      buckets.emplace_back();
      fill = 0;
    }
    buckets.back().push_back(d);
    fill += d.numel();
  }
  return buckets;
}

void publishDeltas(DeltaPublisher& pub, const std::vector<at::Tensor>& now, const std::vector<at::Tensor>& base, int64_t limit) {
  TORCH_CHECK(now.size() == base.size(), "parameter lists differ");
  std::vector<at::Tensor> deltas;
  deltas.reserve(now.size());
  for (size_t i = 0; i < now.size(); ++i) deltas.push_back(now[i] - base[i]);
  pub.publish(makeBuckets(deltas, limit));
}

}  // namespace actor

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<actor::DeltaPublisher>(m, "DeltaPublisher")
      .def(pybind11::init<at::Tensor, double>())
      .def("join", &actor::DeltaPublisher::join)
      .def("published", &actor::DeltaPublisher::published);
  m.def("publish_deltas", &actor::publishDeltas);
}

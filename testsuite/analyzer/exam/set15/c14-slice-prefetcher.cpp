// Prefetching of CT slices for the tooth classifier: the next batch is copied and normalised on a side stream while the network
// works on the current one.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ctload {

class SlicePrefetcher {
 public:
  SlicePrefetcher(std::vector<at::Tensor> batches, int64_t device)
      : device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)),
        side_(c10::cuda::getStreamFromPool(false, device_.index())) {
    for (at::Tensor& batch : batches) {
      TORCH_CHECK(batch.device().is_cpu(), "batches must lie on the host");
      batches_.push_back(batch.is_pinned() ? batch : batch.pin_memory());
    }
    prefetch();
  }

  bool has_next() const { return next_.has_value(); }

  at::Tensor next() {
    TORCH_CHECK(next_.has_value(), "no batch left");
    const c10::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream(device_.index());
    ready_.block(current);
    at::Tensor batch = std::move(*next_);
    next_.reset();
    batch.record_stream(current);
    prefetch();
    return batch;
  }

 private:
  void prefetch() {
    if (position_ == batches_.size()) return;
    const c10::cuda::CUDAStreamGuard guard(side_);
    at::Tensor slices = batches_[position_++].to(device_, /*non_blocking=*/true);
    next_ = normalise(slices);
    ready_.record(side_);
  }

  static at::Tensor normalise(const at::Tensor& slices) {
    return slices.to(at::kFloat).clamp(-1000, 3000).add_(1000).div_(4000);
  }

  c10::Device device_;
  c10::cuda::CUDAStream side_;
  std::vector<at::Tensor> batches_;
  size_t position_ = 0;
  std::optional<at::Tensor> next_;
  at::cuda::CUDAEvent ready_;
};

at::Tensor mean_density(SlicePrefetcher& prefetcher) {
  at::Tensor total;
  while (prefetcher.has_next()) {
    const at::Tensor batch = prefetcher.next();
    at::Tensor mean = batch.flatten(1).mean(1).sum();
    total = total.defined() ? total.add(mean) : mean;
  }
  return total;
}

}  // namespace ctload

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<ctload::SlicePrefetcher, std::shared_ptr<ctload::SlicePrefetcher>>(m, "SlicePrefetcher")
      .def(py::init<std::vector<at::Tensor>, int64_t>())
      .def("has_next", &ctload::SlicePrefetcher::has_next)
      .def("next", &ctload::SlicePrefetcher::next);
  m.def("mean_density", &ctload::mean_density);
}

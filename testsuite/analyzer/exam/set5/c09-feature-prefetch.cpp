// Prefetches node features of the next graph batch while the current one trains.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <optional>
#include <utility>
#include <vector>

namespace gnn {

struct Batch {
  at::Tensor features;
  at::Tensor labels;
  at::cuda::CUDAEvent arrived;
};

class FeaturePrefetcher {
 public:
  // store: [nodes, dim] on the host, pinned.
  FeaturePrefetcher(at::Tensor store, at::Tensor labels, int64_t device)
      : store_(std::move(store)),
        labels_(std::move(labels)),
        device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)),
        copy_(c10::cuda::getStreamFromPool(false, device_.index())) {
    TORCH_CHECK(store_.device().is_cpu() && labels_.device().is_cpu());
  }

  // ids: int64 on the host.
  void request(const at::Tensor& ids) {
    TORCH_CHECK(!next_.has_value(), "one batch at a time");
    at::Tensor rows = gather_pinned(store_, ids);
    at::Tensor y = gather_pinned(labels_, ids);
    c10::cuda::CUDAStreamGuard guard(copy_);
    Batch b;
    b.features = rows.to(device_, /*non_blocking=*/true);
    b.labels = y.to(device_, /*non_blocking=*/true);
    normalise(b.features);
    b.arrived.record(copy_);
    next_ = std::move(b);
  }

  std::pair<at::Tensor, at::Tensor> take() {
    TORCH_CHECK(next_.has_value(), "nothing requested");
    Batch b = std::move(*next_);
    next_.reset();
    hand_over(b, at::cuda::getCurrentCUDAStream(device_.index()));
    return {b.features, b.labels};
  }

 private:
  static at::Tensor gather_pinned(const at::Tensor& table, const at::Tensor& ids) {
    std::vector<int64_t> shape = table.sizes().vec();
    shape[0] = ids.numel();
    at::Tensor out = at::empty(shape, table.options().pinned_memory(true));
    at::index_select_out(out, table, 0, ids);
    return out;
  }

  static void normalise(at::Tensor& x) {
    at::Tensor norm = x.norm(2, 1, /*keepdim=*/true).clamp_min(1e-6);
    x.div_(norm);
  }

  static void hand_over(Batch& b, c10::cuda::CUDAStream consumer) {
    b.arrived.block(consumer);
    b.features.record_stream(consumer);
    b.labels.record_stream(consumer);
  }

  at::Tensor store_, labels_;
  c10::Device device_;
  c10::cuda::CUDAStream copy_;
  std::optional<Batch> next_;
};

}  // namespace gnn

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<gnn::FeaturePrefetcher>(m, "FeaturePrefetcher")
      .def(py::init<at::Tensor, at::Tensor, int64_t>())
      .def("request", &gnn::FeaturePrefetcher::request)
      .def("take", &gnn::FeaturePrefetcher::take);
}

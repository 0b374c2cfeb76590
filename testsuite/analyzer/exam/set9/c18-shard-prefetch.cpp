// Prefetcher for training shards: the next shard is uploaded and decoded on a stream of its own
// while the model works on the current one.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <optional>
#include <utility>

namespace shards {

struct Shard {
  at::Tensor features;
  at::Tensor labels;
};

class Prefetcher {
 public:
  explicit Prefetcher(int64_t device)
      : device_(static_cast<c10::DeviceIndex>(device)),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device_)) {}

  ~Prefetcher() {
    side_.synchronize();
  }

  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Starts the upload of a shard from (preferably pinned) host tensors.
  void start(const at::Tensor& packed, const at::Tensor& labels) {
    TORCH_CHECK(packed.is_cpu() && labels.is_cpu(), "host tensors expected");
    TORCH_CHECK(packed.scalar_type() == at::kByte, "packed features are bytes");
    const c10::cuda::CUDAStreamGuard guard(side_);
    const at::Device target(at::kCUDA, device_);
    const at::Tensor raw = packed.to(target, /*non_blocking=*/true);
    pending_ = Shard{decode(raw), labels.to(target, /*non_blocking=*/true)};
    ready_.record(side_);
    // Host memory stays referenced until the copies have been carried out.
    sources_ = {packed, labels};
  }

  // Hands the pending shard to the current stream.
  std::pair<at::Tensor, at::Tensor> take() {
    TORCH_CHECK(pending_.has_value(), "start() first");
    Shard shard = std::move(*pending_);
    pending_.reset();
    const auto consumer = c10::cuda::getCurrentCUDAStream(device_);
    ready_.block(consumer);
    shard.features.record_stream(consumer.unwrap());
    shard.labels.record_stream(consumer.unwrap());
    return {std::move(shard.features), std::move(shard.labels)};
  }

  // Returns once the sources of the last start() may be overwritten.
  void wait_sources() {
    ready_.synchronize();
    sources_ = {};
  }

 private:
  static at::Tensor decode(const at::Tensor& raw) {
    at::Tensor f = raw.to(at::kFloat);
    f.div_(127.5).sub_(1.0);
    return f;
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent ready_;
  std::optional<Shard> pending_;
  std::pair<at::Tensor, at::Tensor> sources_;
};

// One step of linear regression on the next shard; used by the smoke test.
at::Tensor regression_step(Prefetcher& prefetcher, at::Tensor weights, double rate) {
  const at::NoGradGuard no_grad;
  auto [x, y] = prefetcher.take();
  const at::Tensor error = x.matmul(weights).sub_(y);
  weights.sub_(x.t().matmul(error), rate / static_cast<double>(x.size(0)));
  return error.square().mean();
}

}  // namespace shards

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<shards::Prefetcher>(m, "Prefetcher")
      .def(pybind11::init<int64_t>())
      .def("start", &shards::Prefetcher::start)
      .def("take", &shards::Prefetcher::take)
      .def("wait_sources", &shards::Prefetcher::wait_sources);
  m.def("regression_step", &shards::regression_step);
}

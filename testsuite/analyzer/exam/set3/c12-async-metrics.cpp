// Loss metrics leave the device without stalling the training loop.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace metrics {

class AsyncScalarReader {
 public:
  using Sink = std::function<void(int64_t step, float loss, float norm)>;

  explicit AsyncScalarReader(Sink sink) : sink_(std::move(sink)), stream_(c10::cuda::getStreamFromPool()) {
    for (auto& s : slots_) {
      s.host = at::empty({2}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    }
  }

  void push(int64_t step, const at::Tensor& loss, const at::Tensor& norm) {
    Slot& slot = slots_[cursor_];
    cursor_ = (cursor_ + 1) % slots_.size();
    report(slot);

    at::cuda::CUDAEvent produced;
    produced.record(c10::cuda::getCurrentCUDAStream());
    produced.block(stream_);
    loss.record_stream(stream_);
    norm.record_stream(stream_);
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      at::Tensor packed = at::stack({loss.detach(), norm.detach()}).to(at::kFloat);
      slot.host.copy_(packed, /*non_blocking=*/true);
      slot.done.record(stream_);
    }
    slot.step = step;
  }

  void finish() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      report(slots_[(cursor_ + i) % slots_.size()]);
    }
  }

 private:
  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent done;
    std::optional<int64_t> step;
  };

  void report(Slot& slot) {
    if (!slot.step) {
      return;
    }
    slot.done.synchronize();
    const float* v = slot.host.const_data_ptr<float>();
    sink_(*slot.step, v[0], v[1]);
    slot.step.reset();
  }

  Sink sink_;
  c10::cuda::CUDAStream stream_;
  std::array<Slot, 3> slots_;
  size_t cursor_ = 0;
};

} // namespace metrics

void train(at::Tensor weight, const at::Tensor& data, int64_t steps, metrics::AsyncScalarReader::Sink sink) {
  c10::cuda::CUDAGuard guard(weight.device());
  metrics::AsyncScalarReader reader(std::move(sink));
  for (int64_t step = 0; step < steps; ++step) {
    at::Tensor residual = at::matmul(data, weight).sub(1.0);
    at::Tensor loss = residual.square().mean();
    at::Tensor grad = at::matmul(data.t(), residual).div_(static_cast<double>(data.size(0)));
    weight.sub_(grad, 0.01);
    reader.push(step, loss, grad.norm());
  }
  reader.finish();
}

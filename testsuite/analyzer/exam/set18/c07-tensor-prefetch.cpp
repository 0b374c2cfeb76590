// Evaluation loop with a prefetcher: batches are uploaded on a side stream and
// the running statistics come back through page-locked tensors.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <utility>
#include <vector>

namespace eval {

class Prefetcher {
 public:
  explicit Prefetcher(std::vector<at::Tensor> batches)
      : side_(c10::cuda::getStreamFromPool()), batches_(std::move(batches)) {
    for (auto& b : batches_) b = b.contiguous().pin_memory();
    fetch();
  }

  // An undefined tensor marks the end. The result may be used on the stream
  // that is current in the call, and dropped at any time.
  at::Tensor next() {
    auto current = c10::cuda::getCurrentCUDAStream();
    at::Tensor batch = std::move(ready_);
    ready_ = at::Tensor();
    if (batch.defined()) {
      loaded_.block(current);
      batch.record_stream(current.unwrap());
    }
    fetch();
    return batch;
  }

 private:
  void fetch() {
    if (position_ >= batches_.size()) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    ready_ = batches_[position_++].to(at::Device(at::kCUDA, side_.device_index()), /*non_blocking=*/true);
    loaded_.record(side_);
  }

  c10::cuda::CUDAStream side_;
  std::vector<at::Tensor> batches_;
  size_t position_ = 0;
  at::Tensor ready_;
  at::cuda::CUDAEvent loaded_;
};

// Brings small results to the host without stalling the loop.
class ResultDrain {
 public:
  void add(const at::Tensor& value) {
    Item item;
    item.host = at::empty(value.sizes(), value.options().device(at::kCPU).pinned_memory(true));
    item.host.copy_(value, /*non_blocking=*/true);
    item.copied.record(c10::cuda::getCurrentCUDAStream());
    items_.push_back(std::move(item));
  }

  // Values whose copies have arrived; with `all` set, waits for the others.
  std::vector<double> collect(bool all) {
    std::vector<double> out;
    while (!items_.empty()) {
      Item& front = items_.front();
      if (!front.copied.query()) {
        if (!all) break;
        front.copied.synchronize();
      }
      out.push_back(front.host.item<double>());
      items_.pop_front();
    }
    return out;
  }

 private:
  struct Item {
    at::Tensor host;
    at::cuda::CUDAEvent copied;
  };
  std::deque<Item> items_;
};

std::vector<double> mean_errors(const std::vector<at::Tensor>& batches, const at::Tensor& weight) {
  TORCH_CHECK(weight.is_cuda(), "weight must be on the device");
  c10::cuda::CUDAGuard device(weight.device());
  at::NoGradGuard noGrad;
  Prefetcher prefetcher(batches);
  ResultDrain drain;
  std::vector<double> errors;
  for (at::Tensor batch = prefetcher.next(); batch.defined(); batch = prefetcher.next()) {
    at::Tensor error = at::matmul(batch, weight).abs().mean().to(at::kDouble);
    drain.add(error);
    for (double e : drain.collect(false)) errors.push_back(e);
  }
  for (double e : drain.collect(true)) errors.push_back(e);
  return errors;
}

}  // namespace eval

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("mean_errors", &eval::mean_errors);
}

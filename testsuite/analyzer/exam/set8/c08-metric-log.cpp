// Collects scalar metrics from the GPU without stalling the training loop. Values land in a ring of
// pinned slots and are read once their event has completed.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace metrics {

class MetricLog {
 public:
  MetricLog(int64_t slots, int64_t width) : width_(width) {
    TORCH_CHECK(slots > 0 && width > 0, "slots and width must be positive");
    for (int64_t i = 0; i < slots; ++i) {
      slots_.emplace_back();
      slots_.back().host = torch::empty({width}, torch::TensorOptions().dtype(torch::kFloat).pinned_memory(true));
    }
  }

  // Queues a vector of `width` metrics that was computed on the current stream.
  void push(const std::string& name, const torch::Tensor& values) {
    TORCH_CHECK(values.is_cuda() && values.numel() == width_, "expected ", width_, " CUDA values");
    c10::cuda::CUDAGuard guard(values.device());
    Slot& s = slots_[head_ % slots_.size()];
    if (s.busy) drainThrough(head_ - slots_.size());
    s.name = name;
    s.host.copy_(values.detach().reshape({-1}), /*non_blocking=*/true);
    s.landed = at::cuda::CUDAEvent();
    s.landed.record(c10::cuda::getCurrentCUDAStream());
    s.busy = true;
    ++head_;
  }

  // Reads what has arrived, in order, and stops at the first value still on its way.
  int64_t poll() {
    int64_t n = 0;
    while (tail_ < head_ && slots_[tail_ % slots_.size()].landed.query()) {
      read(slots_[tail_ % slots_.size()]);
      ++tail_;
      ++n;
    }
    return n;
  }

  void flush() {
    if (head_ > 0) drainThrough(head_ - 1);
  }

  std::vector<double> mean(const std::string& name) {
    flush();
    std::vector<double> out;
    auto it = sums_.find(name);
    if (it == sums_.end()) return out;
    for (double v : it->second.first) out.push_back(v / static_cast<double>(it->second.second));
    return out;
  }

 private:
  struct Slot {
    torch::Tensor host;
    at::cuda::CUDAEvent landed;
    std::string name;
    bool busy = false;
  };

  void drainThrough(uint64_t last) {
    while (tail_ <= last) {
      Slot& s = slots_[tail_ % slots_.size()];
      s.landed.synchronize();
      read(s);
      ++tail_;
    }
  }

  void read(Slot& s) {
    auto& [sum, count] = sums_[s.name];
    sum.resize(static_cast<size_t>(width_), 0.0);
    const float* v = s.host.data_ptr<float>();
    for (int64_t i = 0; i < width_; ++i) sum[static_cast<size_t>(i)] += v[i];
    ++count;
    s.busy = false;
  }

  int64_t width_;
  std::deque<Slot> slots_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  std::map<std::string, std::pair<std::vector<double>, int64_t>> sums_;
};

torch::Tensor trainStep(MetricLog& log, const torch::Tensor& x, const torch::Tensor& y, torch::Tensor weight, double lr) {
  torch::NoGradGuard noGrad;
  auto error = torch::matmul(x, weight) - y;
  auto grad = torch::matmul(x.t(), error) / static_cast<double>(x.size(0));
  weight.sub_(grad, lr);
  log.push("train", torch::stack({error.square().mean(), grad.norm()}));
  log.poll();
  return error;
}

}  // namespace metrics

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<metrics::MetricLog>(m, "MetricLog")
      .def(pybind11::init<int64_t, int64_t>())
      .def("push", &metrics::MetricLog::push)
      .def("poll", &metrics::MetricLog::poll)
      .def("flush", &metrics::MetricLog::flush)
      .def("mean", &metrics::MetricLog::mean);
  m.def("train_step", &metrics::trainStep);
}

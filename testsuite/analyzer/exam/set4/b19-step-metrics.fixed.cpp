// Training-loop metrics: scalars leave the GPU without stalling it and are
// summarised on the host every so many steps.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace metrics {

struct Summary {
  double mean = 0, min = 0, max = 0;
  int64_t steps = 0;
};

class Channel {
 public:
  Channel(int64_t capacity, c10::Device device)
      : device_(device), host_(torch::empty({capacity}, torch::TensorOptions().dtype(torch::kFloat32).pinned_memory(true))) {}

  bool full() const { return used_ == host_.size(0); }

  void push(const torch::Tensor& scalar) {
    TORCH_CHECK(scalar.numel() == 1 && scalar.is_cuda(), "expected a CUDA scalar");
    torch::Tensor v = scalar.detach().to(torch::kFloat32).reshape({});
    host_.select(0, used_++).copy_(v, /*non_blocking=*/true);
  }

  Summary flush() {
    Summary s;
    s.steps = used_;
    if (used_ == 0) return s;
    c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();
    const float* p = host_.data_ptr<float>();
    s.min = s.max = p[0];
    for (int64_t i = 0; i < used_; ++i) {
      s.mean += p[i];
      s.min = std::min<double>(s.min, p[i]);
      s.max = std::max<double>(s.max, p[i]);
    }
    s.mean /= double(used_);
    used_ = 0;
    return s;
  }

 private:
  c10::Device device_;
  torch::Tensor host_;
  int64_t used_ = 0;
};

class Recorder {
 public:
  Recorder(int64_t interval, int64_t device_index) : interval_(interval), device_(torch::kCUDA, c10::DeviceIndex(device_index)) {}

  void log(const std::string& name, const torch::Tensor& value) {
    c10::cuda::CUDAGuard guard(device_);
    Channel& c = channel(name);
    c.push(value);
    if (c.full()) history_[name].push_back(c.flush());
  }

  void log_grad_norm(const std::vector<torch::Tensor>& params) {
    std::vector<torch::Tensor> norms;
    for (const auto& p : params)
      if (p.grad().defined()) norms.push_back(p.grad().norm());
    if (!norms.empty()) log("grad_norm", torch::stack(norms).norm());
  }

  std::vector<double> means(const std::string& name) {
    std::vector<double> out;
    for (const Summary& s : history_[name]) out.push_back(s.mean);
    return out;
  }

 private:
  Channel& channel(const std::string& name) {
    auto& slot = channels_[name];
    if (!slot) slot = std::make_unique<Channel>(interval_, device_);
    return *slot;
  }

  int64_t interval_;
  c10::Device device_;
  std::map<std::string, std::unique_ptr<Channel>> channels_;
  std::map<std::string, std::vector<Summary>> history_;
};

}  // namespace metrics

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<metrics::Recorder>(m, "Recorder")
      .def(pybind11::init<int64_t, int64_t>())
      .def("log", &metrics::Recorder::log)
      .def("log_grad_norm", &metrics::Recorder::log_grad_norm)
      .def("means", &metrics::Recorder::means);
}

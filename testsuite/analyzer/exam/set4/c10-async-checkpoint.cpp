// Periodic snapshot of the training state into page-locked memory, written out by a background thread.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdio>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace snapshot {

class Shadow {
 public:
  explicit Shadow(const std::vector<torch::Tensor>& like) {
    for (const auto& t : like)
      copies_.push_back(torch::empty(t.sizes(), torch::TensorOptions().dtype(t.scalar_type()).pinned_memory(true)));
  }

  void copy_from(const std::vector<torch::Tensor>& live, c10::cuda::CUDAStream stream) {
    c10::cuda::CUDAStreamGuard guard(stream);
    for (size_t i = 0; i < live.size(); ++i) copies_[i].copy_(live[i].detach(), /*non_blocking=*/true);
    landed_.record(stream);
  }

  void hold(c10::cuda::CUDAStream stream) { landed_.block(stream); }

  size_t write(const std::string& path) {
    landed_.synchronize();
    std::FILE* f = std::fopen(path.c_str(), "wb");
    TORCH_CHECK(f, "cannot open ", path);
    size_t bytes = 0;
    for (const auto& t : copies_) bytes += std::fwrite(t.data_ptr(), 1, t.nbytes(), f);
    std::fclose(f);
    return bytes;
  }

 private:
  std::vector<torch::Tensor> copies_;
  at::cuda::CUDAEvent landed_;
};

class Checkpointer {
 public:
  explicit Checkpointer(std::vector<torch::Tensor> state)
      : state_(std::move(state)),
        device_(state_.at(0).device()),
        copy_stream_(c10::cuda::getStreamFromPool(false, device_.index())),
        shadow_(state_) {}
  ~Checkpointer() {
    if (writing_.valid()) writing_.wait();
  }

  // Call after the optimiser step; returns as soon as the copies are queued.
  void save(const std::string& path) {
    c10::cuda::CUDAGuard guard(device_);
    finish();
    auto train = c10::cuda::getCurrentCUDAStream(device_.index());
    updated_.record(train);
    updated_.block(copy_stream_);
    shadow_.copy_from(state_, copy_stream_);
    writing_ = std::async(std::launch::async, [this, path] { return shadow_.write(path); });
  }

  // Call before the optimiser modifies the parameters in place.
  void before_update() {
    c10::cuda::CUDAGuard guard(device_);
    shadow_.hold(c10::cuda::getCurrentCUDAStream(device_.index()));
  }

  int64_t finish() {
    if (!writing_.valid()) return 0;
    return int64_t(writing_.get());
  }

 private:
  std::vector<torch::Tensor> state_;
  c10::Device device_;
  c10::cuda::CUDAStream copy_stream_;
  Shadow shadow_;
  at::cuda::CUDAEvent updated_;
  std::future<size_t> writing_;
};

class Sgd {
 public:
  Sgd(std::vector<torch::Tensor> params, double lr) : params_(params), lr_(lr), saver_(params) {}

  void step(const std::vector<torch::Tensor>& grads) {
    torch::NoGradGuard no_grad;
    saver_.before_update();
    for (size_t i = 0; i < params_.size(); ++i) params_[i].sub_(grads[i], lr_);
    if (++steps_ % 100 == 0) saver_.save("state." + std::to_string(steps_));
  }
  int64_t close() { return saver_.finish(); }

 private:
  std::vector<torch::Tensor> params_;
  double lr_;
  int64_t steps_ = 0;
  Checkpointer saver_;
};

}  // namespace snapshot

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<snapshot::Sgd>(m, "Sgd")
      .def(pybind11::init<std::vector<torch::Tensor>, double>())
      .def("step", &snapshot::Sgd::step)
      .def("close", &snapshot::Sgd::close);
}

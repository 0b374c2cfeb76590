// Streaming speech recogniser: the beam search runs ahead on the scheduling stream
// and leaves small state updates for the acoustic model's stream, which applies them
// in one go before the next chunk.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace asr {

class DeferredUpdates {
 public:
  explicit DeferredUpdates(c10::cuda::CUDAStream target) : target_(target) {}

  template <typename F>
  void push(F&& update) {
    updates_.emplace_back(std::forward<F>(update));
  }

  // Everything pushed so far runs on the target stream, after the caller's work.
  void flush() {
    if (updates_.empty()) return;
    at::cuda::CUDAEvent pushed;
    pushed.record(c10::cuda::getCurrentCUDAStream(target_.device_index()));
    pushed.block(target_);
    {
      c10::cuda::CUDAStreamGuard guard(target_);
      for (auto& update : updates_) update(target_);
    }
    updates_.clear();
  }

  c10::cuda::CUDAStream target() const { return target_; }

 private:
  c10::cuda::CUDAStream target_;
  std::vector<std::function<void(c10::cuda::CUDAStream)>> updates_;
};

class BeamState {
 public:
  BeamState(int64_t beams, int64_t width, c10::DeviceIndex device)
      : updates_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {
    c10::cuda::CUDAStreamGuard guard(updates_.target());
    const auto options = torch::dtype(torch::kFloat).device(torch::Device(torch::kCUDA, device));
    hidden_ = torch::zeros({beams, width}, options);
    spare_ = torch::zeros({beams, width}, options);
  }

  // logits: [beams, tokens], produced on the current stream.
  void advance(const torch::Tensor& logits) {
    const int64_t beams = hidden_.size(0);
    const int64_t tokens = logits.size(1);
    auto [scores, flat] = logits.reshape({-1}).topk(beams);
    auto parents = flat.div(tokens, /*rounding_mode=*/"floor");
    auto weight = scores.softmax(0).unsqueeze(1);
    reorder(std::move(parents));
    rescale(weight);
    updates_.flush();
  }

  // Keeps the state bounded between two chunks; runs on the model's stream.
  void squash() {
    c10::cuda::CUDAStreamGuard guard(updates_.target());
    hidden_.tanh_();
  }

  torch::Tensor snapshot() {
    updates_.target().synchronize();
    return hidden_.cpu();
  }

 private:
  void reorder(torch::Tensor parents) {
    updates_.push([this, parents = std::move(parents)](c10::cuda::CUDAStream stream) {
      c10::cuda::CUDACachingAllocator::recordStream(parents.storage().data_ptr(), stream);
      torch::index_select_out(spare_, hidden_, 0, parents);
      std::swap(spare_, hidden_);
    });
  }

  void rescale(const torch::Tensor& weight) {
    updates_.push([this, weight](c10::cuda::CUDAStream stream) {
      c10::cuda::CUDACachingAllocator::recordStream(weight.storage().data_ptr(), stream);
      hidden_.mul_(weight);
    });
  }

  DeferredUpdates updates_;
  torch::Tensor hidden_;
  torch::Tensor spare_;
};

}  // namespace asr

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<asr::BeamState>(m, "BeamState")
      .def(pybind11::init<int64_t, int64_t, c10::DeviceIndex>())
      .def("advance", &asr::BeamState::advance)
      .def("squash", &asr::BeamState::squash)
      .def("snapshot", &asr::BeamState::snapshot);
}

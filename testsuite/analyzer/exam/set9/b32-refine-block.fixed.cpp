// Point-cloud refinement block with online activation statistics.
//
// The statistics are only needed once per epoch, so they are gathered on a stream of their own
// and stay out of the critical path of the forward pass.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>

namespace refine {

// Running peak of the activations per channel.
class ActivationPeaks {
 public:
  ActivationPeaks(int64_t channels, at::Device device)
      : stream_(c10::cuda::getStreamFromPool(false, device.index())) {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    peaks_ = at::zeros({channels}, at::TensorOptions().device(device).dtype(at::kFloat));
  }

  ~ActivationPeaks() {
    stream_.synchronize();
  }

  ActivationPeaks(const ActivationPeaks&) = delete;
  ActivationPeaks& operator=(const ActivationPeaks&) = delete;

  // Takes the activations of one forward pass, [points, channels].
  void observe(const at::Tensor& act) {
    enter_.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    enter_.block(stream_);
    const c10::cuda::CUDAStreamGuard guard(stream_);
    const at::Tensor batch_peak = act.abs().amax(/*dim=*/0);
    at::maximum_out(peaks_, peaks_, batch_peak);
    act.record_stream(stream_.unwrap());
  }

  // A copy of the peaks that belongs to the caller's stream.
  at::Tensor snapshot() {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    leave_.record(stream_);
    leave_.block(caller);
    at::Tensor copy = peaks_.clone();
    peaks_.record_stream(caller.unwrap());
    enter_.record(caller);
    enter_.block(stream_);
    return copy;
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent enter_;
  at::cuda::CUDAEvent leave_;
  at::Tensor peaks_;
};

class RefineBlock {
 public:
  RefineBlock(at::Tensor w_in, at::Tensor w_out)
      : w_in_(std::move(w_in)),
        w_out_(std::move(w_out)),
        peaks_(w_in_.size(1), w_in_.device()) {
    TORCH_CHECK(w_in_.is_cuda() && w_out_.is_cuda(), "weights must be on the GPU");
    TORCH_CHECK(w_in_.size(1) == w_out_.size(0), "inner dimensions differ");
  }

  // points: [points, features] -> [points, features]
  at::Tensor forward(const at::Tensor& points) {
    const at::NoGradGuard no_grad;
    const c10::cuda::CUDAGuard device_guard(points.device());
    const at::Tensor delta = residual(points);
    return points + delta;
  }

  at::Tensor peaks() {
    return peaks_.snapshot();
  }

 private:
  at::Tensor residual(const at::Tensor& points) {
    at::Tensor hidden = at::matmul(points, w_in_);
    peaks_.observe(hidden);
    at::Tensor gated = at::silu(hidden);
    hidden.reset();
    return at::matmul(gated, w_out_);
  }

  at::Tensor w_in_;
  at::Tensor w_out_;
  ActivationPeaks peaks_;
};

}  // namespace refine

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<refine::RefineBlock>(m, "RefineBlock")
      .def(pybind11::init<at::Tensor, at::Tensor>())
      .def("forward", &refine::RefineBlock::forward)
      .def("peaks", &refine::RefineBlock::peaks);
}

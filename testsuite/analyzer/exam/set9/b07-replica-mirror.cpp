// Keeps a second copy of a model's parameters up to date, for the evaluation
// process that shares the GPU. Pushes run on a private stream, beside the
// training step.

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <vector>

namespace mirror {

// All tensors, one after the other, in one flat buffer.
at::Tensor flatten(const std::vector<at::Tensor>& params) {
  std::vector<at::Tensor> rows;
  rows.reserve(params.size());
  for (const at::Tensor& p : params) rows.push_back(p.detach().reshape({-1}));
  return at::cat(rows);
}

int64_t total_elements(const std::vector<at::Tensor>& params) {
  int64_t n = 0;
  for (const at::Tensor& p : params) n += p.numel();
  return n;
}

class ReplicaMirror {
 public:
  explicit ReplicaMirror(const std::vector<at::Tensor>& params)
      : device_(params.at(0).device()),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, params.at(0).device().index())) {
    const c10::cuda::CUDAGuard guard(device_);
    replica_ = at::empty({total_elements(params)}, params[0].options().requires_grad(false));
    replica_.record_stream(side_);
    step_.record(at::cuda::getCurrentCUDAStream());
    step_.block(side_);
  }

  // Mirrors the parameters as the current stream sees them now.
  void push(const std::vector<at::Tensor>& params) {
    const c10::cuda::CUDAGuard guard(device_);
    TORCH_CHECK(total_elements(params) == replica_.numel(), "push: the model changed its size");
    at::Tensor flat = flatten(params);
    step_.record(at::cuda::getCurrentCUDAStream());
    step_.block(side_);
    copy_on_side(flat);
    ++version_;
  }

  // The replica, for use on the current stream, which has to be the one that calls
  // push(). Valid until the next push().
  at::Tensor view() {
    const c10::cuda::CUDAGuard guard(device_);
    const auto current = at::cuda::getCurrentCUDAStream();
    pushed_.block(current);
    replica_.record_stream(current);
    return replica_;
  }

  // Waits on the host; for check-pointing.
  at::Tensor to_cpu() {
    pushed_.synchronize();
    return view().cpu();
  }

  int64_t version() const { return version_; }

 private:
  void copy_on_side(const at::Tensor& flat) {
    const c10::cuda::CUDAStreamGuard on_side(side_);
    replica_.copy_(flat, /*non_blocking=*/true);
    pushed_.record(side_);
  }

  at::Device device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent step_;
  at::cuda::CUDAEvent pushed_;
  at::Tensor replica_;
  int64_t version_ = 0;
};

}  // namespace mirror

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<mirror::ReplicaMirror>(m, "ReplicaMirror")
      .def(pybind11::init<const std::vector<at::Tensor>&>())
      .def("push", &mirror::ReplicaMirror::push)
      .def("view", &mirror::ReplicaMirror::view)
      .def("to_cpu", &mirror::ReplicaMirror::to_cpu)
      .def_property_readonly("version", &mirror::ReplicaMirror::version);
}

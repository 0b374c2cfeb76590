// Offloads activations of a long-context audio encoder to page-locked memory while the next
// layer runs, and brings them back for the backward pass.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace offload {

using c10::cuda::CUDAStream;

// One activation on the host side.
struct Parked {
  at::Tensor host;
  c10::Device device;
  std::unique_ptr<at::cuda::CUDAEvent> written;
};

class ActivationStore {
 public:
  explicit ActivationStore(c10::DeviceIndex device)
      : device_(device), transfer_(c10::cuda::getStreamFromPool(false, device)) {}

  // Takes over the caller's tensor: its device memory is given up as soon as possible.
  void park(std::int64_t layer, at::Tensor activation) {
    TORCH_CHECK(activation.is_cuda() && activation.get_device() == device_,
                "activation must live on device ", static_cast<int>(device_));
    const CUDAStream compute = c10::cuda::getCurrentCUDAStream(device_);
    at::cuda::CUDAEvent produced;
    produced.record(compute);
    produced.block(transfer_);

    Parked entry{host_like(activation), activation.device(), std::make_unique<at::cuda::CUDAEvent>()};
    {
      c10::cuda::CUDAStreamGuard guard(transfer_);
      entry.host.copy_(activation, /*non_blocking=*/true);
      entry.written->record(transfer_);
    }
    keep_until_copied(activation, compute);
    parked_.insert_or_assign(layer, std::move(entry));
  }

  // Device copy of a parked activation, ordered for the caller's current stream.
  at::Tensor fetch(std::int64_t layer) {
    const auto it = parked_.find(layer);
    TORCH_CHECK(it != parked_.end(), "layer ", layer, " was not parked");
    const CUDAStream compute = c10::cuda::getCurrentCUDAStream(device_);
    at::Tensor out = at::empty(it->second.host.sizes(),
                               it->second.host.options().device(it->second.device).pinned_memory(false));
    it->second.written->block(compute);
    out.copy_(it->second.host, /*non_blocking=*/true);
    parked_.erase(it);
    return out;
  }

  std::int64_t size() const { return static_cast<std::int64_t>(parked_.size()); }

 private:
  static at::Tensor host_like(const at::Tensor& t) {
    return at::empty(t.sizes(), t.options().device(at::kCPU).pinned_memory(true));
  }

  static void keep_until_copied(const at::Tensor& t, const CUDAStream& user) {
    if (t.numel() == 0) return;
    t.record_stream(user);
  }

  c10::DeviceIndex device_;
  CUDAStream transfer_;
  std::unordered_map<std::int64_t, Parked> parked_;
};

// Forward through a stack of square layers; every intermediate result goes to the store.
at::Tensor encode(ActivationStore& store, at::Tensor x, const std::vector<at::Tensor>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    at::Tensor y = at::gelu(at::matmul(x, weights[i]));
    store.park(static_cast<std::int64_t>(i), std::move(x));
    x = std::move(y);
  }
  return x;
}

// Gradient of the weights of one layer.
at::Tensor weight_grad(ActivationStore& store, std::int64_t layer, const at::Tensor& grad_out) {
  const at::Tensor x = store.fetch(layer);
  return at::matmul(x.transpose(-2, -1), grad_out);
}

}  // namespace offload

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<offload::ActivationStore>(m, "ActivationStore")
      .def(py::init<c10::DeviceIndex>(), py::arg("device"))
      .def("park", &offload::ActivationStore::park)
      .def("fetch", &offload::ActivationStore::fetch)
      .def("__len__", &offload::ActivationStore::size);
  m.def("encode", &offload::encode);
  m.def("weight_grad", &offload::weight_grad);
}

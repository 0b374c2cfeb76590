// Language-model rescoring keeps only the layers in use on the GPU. Idle
// weights are parked in pinned host memory and their device storage is
// given back.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rescoring {

class WeightGarage {
 public:
  explicit WeightGarage(c10::DeviceIndex device)
      : device_(device), d2h_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}
  ~WeightGarage() { d2h_.synchronize(); }
  WeightGarage(const WeightGarage&) = delete;
  WeightGarage& operator=(const WeightGarage&) = delete;

  void add(std::string name, at::Tensor weight) {
    TORCH_CHECK(weight.is_contiguous() && weight.storage_offset() == 0, "weights must own their storage");
    Slot slot;
    slot.host = at::empty_like(weight, weight.options().device(at::kCPU).pinned_memory(true));
    slot.device = std::move(weight);
    slot.bytes = slot.device.nbytes();
    slots_.emplace(std::move(name), std::move(slot));
  }

  /// Moves a weight to the host and drops its device storage.
  void park(const std::string& name) {
    const c10::cuda::CUDAGuard device_guard(device_);
    Slot& slot = slots_.at(name);
    if (slot.parked) return;
    copy_out(slot);
    drop_storage(slot);
    slot.parked = true;
  }

  /// Brings a weight back; it is usable on the current stream.
  const at::Tensor& fetch(const std::string& name) {
    const c10::cuda::CUDAGuard device_guard(device_);
    Slot& slot = slots_.at(name);
    if (slot.parked) {
      at::native::resize_bytes_cuda(slot.device.storage().unsafeGetStorageImpl(), slot.bytes);
      slot.saved.block(c10::cuda::getCurrentCUDAStream(device_));
      slot.device.copy_(slot.host, /*non_blocking=*/true);
      slot.parked = false;
    }
    return slot.device;
  }

 private:
  struct Slot {
    at::Tensor device;
    at::Tensor host;
    at::cuda::CUDAEvent saved;
    std::size_t bytes = 0;
    bool parked = false;
  };

  void copy_out(Slot& slot) {
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(device_));
    ready.block(d2h_);
    const c10::cuda::CUDAStreamGuard guard(d2h_);
    slot.host.copy_(slot.device, /*non_blocking=*/true);
    slot.device.record_stream(d2h_.unwrap());
    slot.saved.record(d2h_);
  }

  static void drop_storage(Slot& slot) {
    at::native::resize_bytes_cuda(slot.device.storage().unsafeGetStorageImpl(), 0);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream d2h_;
  std::unordered_map<std::string, Slot> slots_;
};

/// Runs the layers one after the other; only one of them is resident. The
/// storage of `layers` is taken over.
at::Tensor rescore(at::Tensor hidden, const std::vector<at::Tensor>& layers) {
  WeightGarage garage(hidden.device().index());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    garage.add("layer" + std::to_string(i), layers[i]);
    garage.park("layer" + std::to_string(i));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    hidden = at::relu(at::matmul(hidden, garage.fetch(name)));
    garage.park(name);
  }
  return hidden;
}

}  // namespace rescoring

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rescore", &rescoring::rescore); }

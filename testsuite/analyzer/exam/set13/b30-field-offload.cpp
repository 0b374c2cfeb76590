// Weather model: prognostic fields that the current substep does not need are moved
// to pinned host memory and their device storage is given up.
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <map>
#include <string>
#include <utility>

namespace nwp {

class FieldStore {
 public:
  explicit FieldStore(c10::DeviceIndex device)
      : transfer_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  void add(const std::string& name, torch::Tensor field) {
    TORCH_CHECK(field.is_cuda() && field.is_contiguous(), name, " must be a contiguous CUDA tensor");
    Entry entry;
    entry.host = torch::empty(field.sizes(), field.options().device(torch::kCPU).pinned_memory(true));
    entry.device = std::move(field);
    entry.bytes = static_cast<size_t>(entry.device.nbytes());
    entries_.insert_or_assign(name, std::move(entry));
  }

  // Device to host; the field must not be used until fetch().
  void offload(const std::string& name) {
    Entry& entry = entries_.at(name);
    if (!entry.resident) return;
    copyToHost(entry);
    dropStorage(entry);
  }

  torch::Tensor fetch(const std::string& name) {
    Entry& entry = entries_.at(name);
    if (!entry.resident) {
      at::native::resize_bytes_cuda(storage(entry), entry.bytes);
      entry.copied.block(c10::cuda::getCurrentCUDAStream(transfer_.device_index()));
      entry.device.copy_(entry.host, /*non_blocking=*/true);
      entry.resident = true;
    }
    return entry.device;
  }

 private:
  struct Entry {
    torch::Tensor device;
    torch::Tensor host;
    at::cuda::CUDAEvent copied;
    size_t bytes = 0;
    bool resident = true;
  };

  static c10::StorageImpl* storage(const Entry& entry) {
    return entry.device.storage().unsafeGetStorageImpl();
  }

  void copyToHost(Entry& entry) {
    at::cuda::CUDAEvent computed;
    computed.record(c10::cuda::getCurrentCUDAStream(transfer_.device_index()));
    computed.block(transfer_);
    c10::cuda::CUDAStreamGuard guard(transfer_);
    entry.host.copy_(entry.device, /*non_blocking=*/true);
    entry.copied.record(transfer_);
  }

  static void dropStorage(Entry& entry) {
    at::native::resize_bytes_cuda(storage(entry), 0);
    entry.resident = false;
  }

  c10::cuda::CUDAStream transfer_;
  std::map<std::string, Entry> entries_;
};

torch::Tensor advect(FieldStore& store, const std::string& wind, const std::string& tracer, double dt) {
  auto u = store.fetch(wind);
  auto flux = u.diff(1, -1).mul_(dt);
  store.offload(wind);
  auto q = store.fetch(tracer);
  auto tendency = torch::zeros_like(q);
  tendency.slice(-1, 0, flux.size(-1)).sub_(flux);
  return q.add_(tendency);
}

}  // namespace nwp

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<nwp::FieldStore>(m, "FieldStore")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("add", &nwp::FieldStore::add)
      .def("offload", &nwp::FieldStore::offload)
      .def("fetch", &nwp::FieldStore::fetch);
  m.def("advect", &nwp::advect);
}

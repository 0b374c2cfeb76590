// Cone-beam tomography: volume slabs that are not being updated are parked in page-locked memory.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/core/StorageImpl.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace cbct {

class SlabStore {
 public:
  explicit SlabStore(c10::DeviceIndex device)
      : device_(device), d2h_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Parks the slab under key. Its device memory is given back, the tensor must not be used afterwards.
  void offload(int64_t key, at::Tensor slab) {
    TORCH_CHECK(slab.is_cuda() && slab.is_contiguous(), "contiguous CUDA slab expected");
    auto& entry = entries_[key];
    entry.host = at::empty(slab.sizes(), slab.options().device(at::kCPU).pinned_memory(true));
    entry.stored = std::make_shared<at::cuda::CUDAEvent>();
    copy_out(slab, entry);
    release_storage(slab);
  }

  // Brings a slab back to the device, in the order of the caller's stream.
  at::Tensor restore(int64_t key) {
    auto it = entries_.find(key);
    TORCH_CHECK(it != entries_.end(), "no slab ", key);
    it->second.stored->synchronize();
    at::Tensor out = it->second.host.to(at::Device(at::kCUDA, device_));
    entries_.erase(it);
    return out;
  }

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    at::Tensor host;
    std::shared_ptr<at::cuda::CUDAEvent> stored;
  };

  void copy_out(const at::Tensor& slab, Entry& entry) {
    written_.record(c10::cuda::getCurrentCUDAStream(device_));
    written_.block(d2h_);
    c10::cuda::CUDAStreamGuard guard(d2h_);
    entry.host.copy_(slab, /*non_blocking=*/true);
    entry.stored->record(d2h_);
  }

  static void release_storage(const at::Tensor& t) {
    t.storage().unsafeGetStorageImpl()->reset();
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream d2h_;
  at::cuda::CUDAEvent written_;
  std::map<int64_t, Entry> entries_;
};

// One SIRT sweep over all slabs; at most one slab is resident at a time.
std::vector<double> sweep(SlabStore& store, const std::vector<int64_t>& keys, const at::Tensor& projection, double relax) {
  at::NoGradGuard no_grad;
  std::vector<double> norms;
  at::Tensor change = at::zeros({static_cast<int64_t>(keys.size())}, projection.options());
  for (size_t i = 0; i < keys.size(); ++i) {
    at::Tensor slab = store.restore(keys[i]);
    at::Tensor forward = slab.sum(0);
    at::Tensor update = (projection - forward).unsqueeze(0).expand_as(slab) * relax;
    slab.add_(update).clamp_min_(0);
    change[static_cast<int64_t>(i)].copy_(update.square().sum());
    store.offload(keys[i], slab);
  }
  at::Tensor host = change.cpu();
  for (int64_t i = 0; i < host.numel(); ++i) norms.push_back(host[i].item<double>());
  return norms;
}

}  // namespace cbct

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<cbct::SlabStore>(m, "SlabStore")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("offload", &cbct::SlabStore::offload)
      .def("restore", &cbct::SlabStore::restore)
      .def("__len__", &cbct::SlabStore::size);
  m.def("sweep", &cbct::sweep);
}

// Ships flattened snapshots of model state into a device-side ring that a recorder drains.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <mutex>
#include <vector>

namespace recorder {

// Fixed slots in one allocation, written on the ship stream only.
class SnapshotRing {
 public:
  SnapshotRing(int64_t slots, int64_t slotBytes, c10::DeviceIndex device)
      : slotBytes_(slotBytes), slots_(slots), ship_(c10::cuda::getStreamFromPool(false, device)) {
    const c10::cuda::CUDAStreamGuard guard(ship_);
    storage_ = at::empty({slots, slotBytes},
                         at::device(at::Device(at::kCUDA, device)).dtype(at::kByte));
  }
  ~SnapshotRing() { ship_.synchronize(); }

  int64_t slotBytes() const { return slotBytes_; }

  // Copies `flat` into the next slot, ordered after the work queued so far in the current stream.
  int64_t put(const at::Tensor& flat) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t slot = next_++ % slots_;
    at::cuda::CUDAEvent produced;
    produced.record(c10::cuda::getCurrentCUDAStream(ship_.device_index()));
    produced.block(ship_);
    uint8_t* dst = storage_.data_ptr<uint8_t>() + slot * slotBytes_;
    C10_CUDA_CHECK(cudaMemcpyAsync(dst, flat.data_ptr(), flat.nbytes(), cudaMemcpyDeviceToDevice,
                                   ship_));
    return slot;
  }

  // A host copy of one slot; blocks until it is complete.
  at::Tensor fetch(int64_t slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    at::Tensor host = at::empty({slotBytes_}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    const uint8_t* src = storage_.data_ptr<uint8_t>() + slot * slotBytes_;
    C10_CUDA_CHECK(cudaMemcpyAsync(host.data_ptr(), src, slotBytes_, cudaMemcpyDeviceToHost, ship_));
    ship_.synchronize();
    return host;
  }

 private:
  int64_t slotBytes_;
  int64_t slots_;
  int64_t next_ = 0;
  c10::cuda::CUDAStream ship_;
  at::Tensor storage_;
  std::mutex mutex_;
};

static at::Tensor flatten(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> pieces;
  pieces.reserve(parts.size());
  for (const at::Tensor& p : parts) pieces.push_back(p.detach().reshape({-1}).to(at::kFloat));
  return at::cat(pieces);
}

class Shipper {
 public:
  Shipper(int64_t slots, int64_t slotBytes, int64_t device)
      : device_(static_cast<c10::DeviceIndex>(device)), ring_(slots, slotBytes, device_) {}

  // Called from the training loop, in the training stream.
  int64_t ship(const std::vector<at::Tensor>& parts) {
    const c10::cuda::CUDAGuard guard(device_);
    at::Tensor flat = flatten(parts);
    TORCH_CHECK(static_cast<int64_t>(flat.nbytes()) <= ring_.slotBytes(), "snapshot too large");
    const int64_t slot = ring_.put(flat);
    ++shipped_;
    return slot;
  }

  at::Tensor fetch(int64_t slot) {
    const c10::cuda::CUDAGuard guard(device_);
    return ring_.fetch(slot);
  }

  int64_t shipped() const { return shipped_; }

 private:
  c10::DeviceIndex device_;
  SnapshotRing ring_;
  int64_t shipped_ = 0;
};

}  // namespace recorder

PYBIND11_MODULE(snapshot_ops, m) {
  pybind11::class_<recorder::Shipper>(m, "Shipper")
      .def(pybind11::init<int64_t, int64_t, int64_t>())
      .def("ship", &recorder::Shipper::ship)
      .def("fetch", &recorder::Shipper::fetch)
      .def_property_readonly("shipped", &recorder::Shipper::shipped);
}

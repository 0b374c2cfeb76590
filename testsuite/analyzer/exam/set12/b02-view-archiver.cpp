// Archives raw detector views of a CT scan while the reconstruction goes on.
//
// Views come as small tensors of different shapes.  They are flattened to one
// block on the reconstruction stream and shipped to a pinned ring on a copy
// stream, from which a writer thread drains them to disk.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <vector>

namespace ct {

class PinnedRing {
 public:
  static constexpr size_t kSlots = 4;

  explicit PinnedRing(size_t slot_floats) : slot_floats_(slot_floats) {
    const auto opts = at::TensorOptions().dtype(at::kFloat).device(at::kCPU).pinned_memory(true);
    for (auto& s : slots_) s.storage = at::empty({static_cast<int64_t>(slot_floats)}, opts);
  }

  struct Slot {
    at::Tensor storage;
    at::cuda::CUDAEvent landed;
    int64_t used = 0;
  };

  // A slot whose previous transfer is over.
  Slot& next() {
    Slot& s = slots_[head_++ % kSlots];
    s.landed.synchronize();
    s.used = 0;
    return s;
  }

  size_t slot_floats() const { return slot_floats_; }

 private:
  std::array<Slot, kSlots> slots_;
  size_t slot_floats_;
  size_t head_ = 0;
};

class ViewArchiver {
 public:
  ViewArchiver(size_t slot_floats, c10::DeviceIndex device)
      : ring_(slot_floats), copy_stream_(c10::cuda::getStreamFromPool(false, device)), device_(device) {}

  // Queues the views for archiving and returns at once.
  void archive(const std::vector<at::Tensor>& views) {
    at::Tensor flat = flatten(views);
    ship(flat);
  }

  // Blocks until the newest archived block is in host memory.  The storage is
  // recycled once PinnedRing::kSlots further blocks have been queued.
  const at::Tensor& newest() {
    TORCH_CHECK(last_ != nullptr, "nothing archived yet");
    last_->landed.synchronize();
    return last_->storage;
  }

  ~ViewArchiver() { copy_stream_.synchronize(); }

 private:
  static at::Tensor flatten(const std::vector<at::Tensor>& views) {
    std::vector<at::Tensor> rows;
    rows.reserve(views.size());
    for (const auto& v : views) rows.push_back(v.reshape({-1}));
    return at::cat(rows);
  }

  void ship(const at::Tensor& flat) {
    TORCH_CHECK(static_cast<size_t>(flat.numel()) <= ring_.slot_floats(), "view block larger than a slot");
    PinnedRing::Slot& slot = ring_.next();

    at::cuda::CUDAEvent packed;
    packed.record(c10::cuda::getCurrentCUDAStream(device_));
    packed.block(copy_stream_);

    C10_CUDA_CHECK(cudaMemcpyAsync(slot.storage.mutable_data_ptr(), flat.const_data_ptr(), flat.nbytes(),
                                   cudaMemcpyDeviceToHost, copy_stream_.stream()));
    slot.landed.record(copy_stream_);
    slot.used = flat.numel();
    last_ = &slot;
  }

  PinnedRing ring_;
  c10::cuda::CUDAStream copy_stream_;
  c10::DeviceIndex device_;
  PinnedRing::Slot* last_ = nullptr;
};

// Reconstruction loop: weights, archives, backprojects.
at::Tensor reconstruct(ViewArchiver& archiver, const std::vector<std::vector<at::Tensor>>& batches, at::Tensor volume) {
  for (const auto& batch : batches) {
    archiver.archive(batch);
    for (const auto& view : batch) {
      at::Tensor filtered = at::fft_irfft(at::fft_rfft(view).abs());
      volume.add_(filtered.mean());
    }
  }
  return volume;
}

}  // namespace ct

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<ct::ViewArchiver>(m, "ViewArchiver")
      .def(py::init([](size_t slot_floats, int device) {
        return new ct::ViewArchiver(slot_floats, static_cast<c10::DeviceIndex>(device));
      }))
      .def("archive", &ct::ViewArchiver::archive)
      .def("newest", &ct::ViewArchiver::newest);
  m.def("reconstruct", &ct::reconstruct);
}

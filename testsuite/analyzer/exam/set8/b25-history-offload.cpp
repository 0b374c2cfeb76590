// Reversible training of the weather emulator: layer states are parked in a small pool of device pages, moved to host
// memory while the forward pass goes on, and fetched again for the backward pass.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace emulator {

using at::Tensor;
using at::cuda::CUDAEvent;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

struct Page {
  Tensor device;
  CUDAEvent filled;
  CUDAEvent moved;
};

// Fixed pool of equally shaped pages. Pages are handed out in the order in which they came back.
class PagePool {
 public:
  PagePool(at::IntArrayRef shape, int64_t pages, c10::Device device) {
    for (int64_t i = 0; i < pages; ++i) {
      auto page = std::make_unique<Page>();
      page->device = at::empty(shape, at::TensorOptions().dtype(at::kFloat).device(device));
      idle_.push_back(page.get());
      pages_.push_back(std::move(page));
    }
  }

  // A page that may be written on `stream`.
  Page* acquire(const CUDAStream& stream) {
    TORCH_CHECK(!idle_.empty(), "page pool is exhausted");
    Page* page = idle_.front();
    idle_.pop_front();
    return page;
  }

  void release(Page* page) { idle_.push_back(page); }

 private:
  std::vector<std::unique_ptr<Page>> pages_;
  std::deque<Page*> idle_;
};

class StateStore {
 public:
  StateStore(std::vector<int64_t> shape, int64_t layers, int64_t pages, int64_t device_index)
      : device_(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index)),
        transfer_(c10::cuda::getStreamFromPool(false, device_.index())),
        pool_(shape, pages, device_) {
    for (int64_t l = 0; l < layers; ++l) {
      host_.push_back(at::empty(shape, at::TensorOptions().dtype(at::kFloat).pinned_memory(true)));
    }
  }

  ~StateStore() { transfer_.synchronize(); }

  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  // Keeps the state of `layer`; the caller may change `state` behind the call.
  void park(int64_t layer, const Tensor& state) {
    CUDAStream current = c10::cuda::getCurrentCUDAStream(device_.index());
    Page* page = pool_.acquire(current);
    page->device.copy_(state);
    page->filled.record(current);
    move_out(page, host_.at(layer));
    pool_.release(page);
  }

  // The parked state of `layer` on the current stream.
  Tensor fetch(int64_t layer) {
    CUDAStream current = c10::cuda::getCurrentCUDAStream(device_.index());
    Tensor out;
    {
      CUDAStreamGuard guard(transfer_);
      out = host_.at(layer).to(device_, /*non_blocking=*/true);
      fetched_.record(transfer_);
    }
    fetched_.block(current);
    out.record_stream(current);
    return out;
  }

 private:
  void move_out(Page* page, Tensor& host) {
    CUDAStreamGuard guard(transfer_);
    page->filled.block(transfer_);
    host.copy_(page->device, /*non_blocking=*/true);
    page->moved.record(transfer_);
  }

  c10::Device device_;
  CUDAStream transfer_;
  CUDAEvent fetched_;
  PagePool pool_;
  std::vector<Tensor> host_;
};

// Advances `x` through all layers in place and parks the state in front of each.
static Tensor run_forward(StateStore& store, Tensor x, const std::vector<Tensor>& weights) {
  for (size_t l = 0; l < weights.size(); ++l) {
    store.park(static_cast<int64_t>(l), x);
    x.add_(at::matmul(x, weights[l]).tanh_());
  }
  return x;
}

static std::unique_ptr<StateStore> make_store(std::vector<int64_t> shape, int64_t layers, int64_t pages,
                                              int64_t device_index) {
  return std::make_unique<StateStore>(std::move(shape), layers, pages, device_index);
}

}  // namespace emulator

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<emulator::StateStore>(m, "StateStore")
      .def(pybind11::init(&emulator::make_store))
      .def("park", &emulator::StateStore::park)
      .def("fetch", &emulator::StateStore::fetch);
  m.def("run_forward", &emulator::run_forward);
}

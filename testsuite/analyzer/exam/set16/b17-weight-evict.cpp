// Evicts the weights of inactive experts to page-locked host memory and brings them back on demand.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace moe {

class WeightStore {
 public:
  explicit WeightStore(c10::Device device)
      : device_(device), d2h_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}

  void add(const std::string& name, at::Tensor weight) {
    TORCH_CHECK(weight.device() == device_, name, " is on ", weight.device());
    entries_.emplace(name, Entry{std::move(weight), {}, {}});
  }

  // The weight on the device; call on the stream that computes with it.
  at::Tensor get(const std::string& name) {
    Entry& e = entries_.at(name);
    if (e.host.defined()) restore(e);
    return e.weight;
  }

  void evict(const std::string& name) {
    Entry& e = entries_.at(name);
    if (e.host.defined()) return;
    copyOut(e);
    release(e.weight);
  }

  int64_t residentBytes() const {
    int64_t sum = 0;
    for (const auto& kv : entries_) sum += static_cast<int64_t>(kv.second.weight.nbytes());
    return sum;
  }

 private:
  struct Entry {
    at::Tensor weight;
    at::Tensor host;
    std::shared_ptr<at::cuda::CUDAEvent> copied;
  };

  void copyOut(Entry& e) {
    e.host = at::empty(e.weight.sizes(), e.weight.options().device(at::kCPU).pinned_memory(true));
    at::cuda::CUDAEvent computed;
    computed.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    computed.block(d2h_);
    {
      c10::cuda::CUDAStreamGuard onCopyStream(d2h_);
      e.host.copy_(e.weight, /*non_blocking=*/true);
    }
    e.copied = std::make_shared<at::cuda::CUDAEvent>();
    e.copied->record(d2h_);
  }

  // Keeps the tensor object, which modules refer to, but gives its storage back.
  static void release(at::Tensor& weight) {
    weight.set_data(at::empty({0}, weight.options()));
  }

  void restore(Entry& e) {
    e.copied->synchronize();
    e.weight.set_data(e.host.to(device_, /*non_blocking=*/true));
    e.host = at::Tensor();
    e.copied.reset();
  }

  c10::Device device_;
  c10::cuda::CUDAStream d2h_;
  std::unordered_map<std::string, Entry> entries_;
};

// One decoding step: the expert computes, its weight leaves the device, and the next activation is
// allocated on the compute stream.
at::Tensor expertStep(WeightStore& store, const std::string& expert, const at::Tensor& tokens) {
  at::NoGradGuard noGrad;
  at::Tensor y = at::matmul(tokens, store.get(expert));
  store.evict(expert);
  return at::gelu(y).add_(tokens);
}

}  // namespace moe

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<moe::WeightStore>(m, "WeightStore")
      .def(py::init([](int index) { return new moe::WeightStore(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index))); }))
      .def("add", &moe::WeightStore::add)
      .def("get", &moe::WeightStore::get)
      .def("evict", &moe::WeightStore::evict);
  m.def("expert_step", &moe::expertStep);
}

// Moves cold embedding tables to host memory and back.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <list>
#include <string>
#include <unordered_map>

namespace embed {

class Table {
 public:
  explicit Table(at::Tensor weight)
      : device_(std::move(weight)), sizes_(device_.sizes().vec()), options_(device_.options()),
        host_(at::empty(sizes_, options_.device(at::kCPU).pinned_memory(true))) {}

  bool resident() const { return resident_; }
  const at::Tensor& weight() const { return device_; }
  const at::Tensor& host() const { return host_; }

  // Gives the device memory back; the tensor object itself stays valid.
  void drop() {
    device_.set_();
    resident_ = false;
  }

  void adopt(at::Tensor weight) {
    device_ = std::move(weight);
    resident_ = true;
  }

  at::Tensor fresh() const { return at::empty(sizes_, options_); }

  at::cuda::CUDAEvent saved;

 private:
  at::Tensor device_;
  std::vector<int64_t> sizes_;
  at::TensorOptions options_;
  at::Tensor host_;
  bool resident_ = true;
};

class TableBank {
 public:
  TableBank(size_t budget, c10::DeviceIndex device)
      : budget_(budget), device_(device), spill_(c10::cuda::getStreamFromPool(false, device)) {}

  ~TableBank() { spill_.synchronize(); }

  void add(const std::string& name, at::Tensor weight) {
    tables_.emplace(std::piecewise_construct, std::forward_as_tuple(name),
                    std::forward_as_tuple(std::move(weight)));
    lru_.push_back(name);
    trim();
  }

  at::Tensor lookup(const std::string& name, const at::Tensor& ids) {
    Table& t = touch(name);
    return t.weight().index_select(0, ids);
  }

  void sgd(const std::string& name, const at::Tensor& ids, const at::Tensor& grad, double lr) {
    Table& t = touch(name);
    t.weight().index_add_(0, ids, grad, -lr);
  }

 private:
  Table& touch(const std::string& name) {
    Table& t = tables_.at(name);
    lru_.remove(name);
    lru_.push_back(name);
    if (!t.resident()) restore(t);
    trim();
    return t;
  }

  void trim() {
    size_t n = 0;
    for (const auto& name : lru_) n += tables_.at(name).resident();
    for (auto it = lru_.begin(); n > budget_ && it != lru_.end(); ++it) {
      Table& t = tables_.at(*it);
      if (!t.resident()) continue;
      spill(t);
      --n;
    }
  }

  void spill(Table& t) {
    at::cuda::CUDAEvent updated;
    updated.record(c10::cuda::getCurrentCUDAStream(device_));
    updated.block(spill_);
    {
      c10::cuda::CUDAStreamGuard guard(spill_);
      t.host().copy_(t.weight(), /*non_blocking=*/true);
      t.saved.record(spill_);
    }
    t.drop();
  }

  void restore(Table& t) {
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    t.saved.block(current);
    at::Tensor w = t.fresh();
    w.copy_(t.host(), /*non_blocking=*/true);
    t.adopt(std::move(w));
  }

  size_t budget_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream spill_;
  std::unordered_map<std::string, Table> tables_;
  std::list<std::string> lru_;
};

}  // namespace embed

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<embed::TableBank>(m, "TableBank")
      .def(pybind11::init<size_t, c10::DeviceIndex>())
      .def("add", &embed::TableBank::add)
      .def("lookup", &embed::TableBank::lookup)
      .def("sgd", &embed::TableBank::sgd);
}

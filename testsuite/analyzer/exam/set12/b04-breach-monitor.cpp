// Intraday value-at-risk monitor.
//
// The risk engine revalues the book on the GPU; the monitor takes a snapshot
// of the profit-and-loss vector now and then and counts limit breaches on the
// CPU, where the limit tables live.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace risk {

struct Limit {
  std::string desk;
  int64_t begin = 0;
  int64_t end = 0;
  float floor = 0.0f;
};

struct Breach {
  std::string desk;
  int64_t scenarios = 0;
  float worst = 0.0f;
};

class Book {
 public:
  Book(at::Tensor exposures, at::Tensor base_value) : exposures_(std::move(exposures)), base_(std::move(base_value)) {
    TORCH_CHECK(exposures_.is_cuda() && base_.is_cuda(), "the book must live on the GPU");
  }

  // shocks: [factors, scenarios]
  at::Tensor revalue(const at::Tensor& shocks) const {
    at::Tensor linear = at::matmul(exposures_, shocks);
    return linear - 0.5 * linear.pow(2) * base_.unsqueeze(1);
  }

 private:
  at::Tensor exposures_;
  at::Tensor base_;
};

// Host copy of a device tensor, as float32.
at::Tensor snapshot(const at::Tensor& values) {
  const auto host = values.options().device(at::kCPU).dtype(at::kFloat);
  return values.to(at::kFloat).to(host, /*non_blocking=*/true);
}

class BreachMonitor {
 public:
  explicit BreachMonitor(std::vector<Limit> limits) : limits_(std::move(limits)) {}

  std::vector<Breach> check(const Book& book, const at::Tensor& shocks) {
    at::Tensor pnl = book.revalue(shocks);
    at::Tensor on_host = snapshot(pnl.contiguous());
    std::vector<Breach> found;
    for (const Limit& limit : limits_) {
      Breach b = scan(on_host, limit);
      if (b.scenarios > 0) found.push_back(std::move(b));
    }
    history_.push_back(static_cast<int64_t>(found.size()));
    return found;
  }

  const std::vector<int64_t>& history() const { return history_; }

 private:
  static Breach scan(const at::Tensor& pnl, const Limit& limit) {
    Breach b;
    b.desk = limit.desk;
    const int64_t scenarios = pnl.size(1);
    const float* data = pnl.const_data_ptr<float>();
    for (int64_t s = 0; s < scenarios; ++s) {
      float sum = 0.0f;
      for (int64_t row = limit.begin; row < limit.end; ++row) sum += data[row * scenarios + s];
      if (sum < limit.floor) {
        ++b.scenarios;
        b.worst = std::min(b.worst, sum);
      }
    }
    return b;
  }

  std::vector<Limit> limits_;
  std::vector<int64_t> history_;
};

}  // namespace risk

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<risk::Limit>(m, "Limit")
      .def(py::init<>())
      .def_readwrite("desk", &risk::Limit::desk)
      .def_readwrite("begin", &risk::Limit::begin)
      .def_readwrite("end", &risk::Limit::end)
      .def_readwrite("floor", &risk::Limit::floor);
  py::class_<risk::Breach>(m, "Breach")
      .def_readonly("desk", &risk::Breach::desk)
      .def_readonly("scenarios", &risk::Breach::scenarios)
      .def_readonly("worst", &risk::Breach::worst);
  py::class_<risk::Book>(m, "Book").def(py::init<at::Tensor, at::Tensor>()).def("revalue", &risk::Book::revalue);
  py::class_<risk::BreachMonitor>(m, "BreachMonitor")
      .def(py::init<std::vector<risk::Limit>>())
      .def("check", &risk::BreachMonitor::check)
      .def("history", &risk::BreachMonitor::history);
}

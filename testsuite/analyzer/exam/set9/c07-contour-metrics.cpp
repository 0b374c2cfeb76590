// Segmentation metrics beside the training step: the confusion table of a
// batch is computed on a side stream and fetched some steps later.

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <deque>
#include <utility>

namespace contour {

// Counts of (truth, guess) pairs as a [classes, classes] tensor.
at::Tensor confusion(const at::Tensor& guess, const at::Tensor& truth, int64_t classes) {
  const at::Tensor pairs = truth.reshape({-1}).to(at::kLong).mul(classes).add_(guess.reshape({-1}).to(at::kLong));
  const at::Tensor ones = at::ones_like(pairs);
  return at::zeros({classes * classes}, pairs.options()).scatter_add_(0, pairs, ones).view({classes, classes});
}

class ContourMetrics {
 public:
  ContourMetrics(int64_t classes, int64_t device)
      : classes_(classes), side_(c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(device))) {}

  // Starts the metrics of one batch. The tensors are shared, not copied: leave
  // them unchanged until the table has been taken.
  void submit(const at::Tensor& logits, const at::Tensor& truth) {
    const c10::cuda::CUDAGuard guard(side_.device_index());
    at::cuda::CUDAEvent inputs;
    inputs.record(at::cuda::getCurrentCUDAStream());
    inputs.block(side_);
    for (const at::Tensor& t : {logits, truth}) t.record_stream(side_);

    Entry entry;
    {
      const c10::cuda::CUDAStreamGuard on_side(side_);
      const at::NoGradGuard no_grad;
      entry.table = confusion(logits.argmax(1), truth, classes_);
    }
    entry.done.record(side_);
    entries_.push_back(std::move(entry));
  }

  // The oldest table, for use on the current stream.
  at::Tensor take() {
    TORCH_CHECK(!entries_.empty(), "take: nothing was submitted");
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    const auto current = at::cuda::getCurrentCUDAStream(side_.device_index());
    entry.done.block(current);
    entry.table.record_stream(current);
    return entry.table;
  }

  // Sum of everything that was submitted and not taken, on the CPU.
  at::Tensor drain() {
    at::Tensor sum = at::zeros({classes_, classes_}, at::kLong);
    while (!entries_.empty()) sum.add_(take().cpu());
    return sum;
  }

  int64_t pending() const { return static_cast<int64_t>(entries_.size()); }

 private:
  struct Entry {
    at::Tensor table;
    at::cuda::CUDAEvent done;
  };

  int64_t classes_;
  c10::cuda::CUDAStream side_;
  std::deque<Entry> entries_;
};

// Intersection over union of each class, from a confusion table.
at::Tensor iou(const at::Tensor& table) {
  const at::Tensor t = table.to(at::kFloat);
  const at::Tensor hit = t.diagonal();
  return hit / (t.sum(0) + t.sum(1) - hit).clamp_min(1.0);
}

}  // namespace contour

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<contour::ContourMetrics>(m, "ContourMetrics")
      .def(pybind11::init<int64_t, int64_t>(), pybind11::arg("classes"), pybind11::arg("device") = 0)
      .def("submit", &contour::ContourMetrics::submit)
      .def("take", &contour::ContourMetrics::take)
      .def("drain", &contour::ContourMetrics::drain)
      .def_property_readonly("pending", &contour::ContourMetrics::pending);
  m.def("iou", &contour::iou);
}

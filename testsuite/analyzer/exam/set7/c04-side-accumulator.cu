// Accumulates per-step statistics of activations in a side stream, without record_stream on the inputs.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <utility>

namespace actstats {

__global__ void accumulateRows(const float* x, float* sums, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float acc = 0.f;
  for (int r = 0; r < rows; ++r) acc += x[static_cast<int64_t>(r) * columns + c];
  sums[c] += acc;
}

class SideAccumulator {
 public:
  SideAccumulator(int64_t columns, int64_t device)
      : columns_(columns),
        side_(c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(device))) {
    const c10::cuda::CUDAStreamGuard guard(side_);
    sums_ = at::zeros({columns}, at::device(side_.device()).dtype(at::kFloat));
  }

  ~SideAccumulator() { side_.synchronize(); }

  // Queues the accumulation of `x`. The caller may drop its reference at once, but does not
  // change the values in place.
  void add(const at::Tensor& x) {
    const c10::cuda::CUDAGuard guard(side_.device());
    TORCH_CHECK(x.is_cuda() && x.dim() == 2 && x.size(1) == columns_, "unexpected activation shape");
    reap();
    at::Tensor rows = x.contiguous().to(at::kFloat);
    at::cuda::CUDAEvent produced;
    produced.record(c10::cuda::getCurrentCUDAStream());
    produced.block(side_);
    launch(rows);
    Pending p;
    p.input = std::move(rows);
    p.done.record(side_);
    pending_.push_back(std::move(p));
    count_ += x.size(0);
  }

  // Mean over everything added so far, as a tensor of the current stream.
  at::Tensor mean() {
    const c10::cuda::CUDAGuard guard(side_.device());
    const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream();
    at::cuda::CUDAEvent summed;
    summed.record(side_);
    summed.block(current);
    at::Tensor copy = sums_.clone();
    at::cuda::CUDAEvent copied;
    copied.record(current);
    copied.block(side_);
    sums_.record_stream(current.unwrap());
    return copy.div_(static_cast<double>(count_ > 0 ? count_ : 1));
  }

  int64_t backlog() {
    reap();
    return static_cast<int64_t>(pending_.size());
  }

 private:
  struct Pending {
    at::Tensor input;
    at::cuda::CUDAEvent done;
  };

  void launch(const at::Tensor& rows) {
    const int columns = static_cast<int>(columns_);
    accumulateRows<<<(columns + 127) / 128, 128, 0, side_>>>(
        rows.data_ptr<float>(), sums_.data_ptr<float>(), static_cast<int>(rows.size(0)), columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  // Drops the inputs that the side stream is done with.
  void reap() {
    while (!pending_.empty() && pending_.front().done.query()) pending_.pop_front();
  }

  int64_t columns_;
  int64_t count_ = 0;
  c10::cuda::CUDAStream side_;
  at::Tensor sums_;
  std::deque<Pending> pending_;
};

}  // namespace actstats

PYBIND11_MODULE(actstats_ops, m) {
  pybind11::class_<actstats::SideAccumulator>(m, "SideAccumulator")
      .def(pybind11::init<int64_t, int64_t>())
      .def("add", &actstats::SideAccumulator::add)
      .def("mean", &actstats::SideAccumulator::mean)
      .def("backlog", &actstats::SideAccumulator::backlog);
}

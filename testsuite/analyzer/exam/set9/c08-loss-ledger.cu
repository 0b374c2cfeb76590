// Keeps the losses of a run without stalling it: each loss goes into a pinned
// cell, and cells are read once their copy is known to be over.

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <deque>
#include <utility>
#include <vector>

namespace ledger {

__global__ void blend_losses(const float* parts, const float* weights, int n, float* out) {
  float acc = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) acc += parts[i] * weights[i];
  for (int o = 16; o > 0; o /= 2) acc += __shfl_down_sync(0xffffffffu, acc, o);
  if (threadIdx.x == 0) *out = acc;
}

// Weighted sum of the loss terms, on the current stream.
at::Tensor blend(const at::Tensor& parts, const at::Tensor& weights) {
  TORCH_CHECK(parts.is_cuda() && parts.scalar_type() == at::kFloat && parts.is_contiguous(), "blend: bad parts");
  TORCH_CHECK(weights.device() == parts.device() && weights.numel() == parts.numel(), "blend: bad weights");
  const c10::cuda::CUDAGuard guard(parts.device());
  const at::Tensor w = weights.to(at::kFloat).contiguous();
  at::Tensor out = at::empty({}, parts.options());
  blend_losses<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(
      parts.data_ptr<float>(), w.data_ptr<float>(), static_cast<int>(parts.numel()), out.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

class Ledger {
 public:
  // Notes the loss of a step; returns at once.
  void note(int64_t step, const at::Tensor& parts, const at::Tensor& weights) {
    const c10::cuda::CUDAGuard guard(parts.device());
    Cell cell = take_cell();
    cell.step = step;
    cell.value.copy_(blend(parts, weights), /*non_blocking=*/true);
    cell.arrived.record(at::cuda::getCurrentCUDAStream());
    open_.push_back(std::move(cell));
  }

  // Moves the cells that have arrived to the history; never waits.
  int64_t poll() {
    int64_t moved = 0;
    while (!open_.empty() && open_.front().arrived.query()) {
      close(std::move(open_.front()));
      open_.pop_front();
      ++moved;
    }
    return moved;
  }

  // The whole history, including the steps still on the way.
  std::vector<std::pair<int64_t, double>> history() {
    while (!open_.empty()) {
      open_.front().arrived.synchronize();
      close(std::move(open_.front()));
      open_.pop_front();
    }
    return history_;
  }

 private:
  struct Cell {
    int64_t step = 0;
    at::Tensor value;
    at::cuda::CUDAEvent arrived;
  };

  Cell take_cell() {
    Cell cell;
    if (spare_.empty()) {
      cell.value = at::empty({}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    } else {
      cell.value = std::move(spare_.back());
      spare_.pop_back();
    }
    return cell;
  }

  void close(Cell cell) {
    history_.emplace_back(cell.step, static_cast<double>(*cell.value.data_ptr<float>()));
    spare_.push_back(std::move(cell.value));
  }

  std::deque<Cell> open_;
  std::vector<at::Tensor> spare_;
  std::vector<std::pair<int64_t, double>> history_;
};

}  // namespace ledger

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("blend", &ledger::blend);
  pybind11::class_<ledger::Ledger>(m, "Ledger")
      .def(pybind11::init<>())
      .def("note", &ledger::Ledger::note)
      .def("poll", &ledger::Ledger::poll)
      .def("history", &ledger::Ledger::history);
}

// Planner for ragged batches: turns sequence lengths into the offset table that the attention
// kernels of this package read. A planner belongs to one worker and one stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <vector>

namespace ragged {

class Planner {
 public:
  Planner(int64_t max_sequences, int64_t device)
      : device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)),
        capacity_(max_sequences + 1) {
    const c10::cuda::CUDAGuard guard(device_);
    host_offsets_ = at::empty({capacity_}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    offsets_ = at::empty({capacity_}, at::TensorOptions().dtype(at::kInt).device(device_));
  }

  // Prepares the next step; `lengths` holds one entry per sequence. Does not block.
  void plan(const std::vector<int64_t>& lengths) {
    TORCH_CHECK(static_cast<int64_t>(lengths.size()) < capacity_, "too many sequences");
    const c10::cuda::CUDAGuard guard(device_);
    write_offsets(lengths);
    upload();
  }

  // values: [tokens, dim] -> [sequences, dim], mean over the tokens of a sequence.
  at::Tensor mean_pool(const at::Tensor& values) const {
    TORCH_CHECK(used_ > 0, "plan() first");
    const c10::cuda::CUDAGuard guard(device_);
    const at::Tensor table = offsets_.narrow(0, 0, used_).to(at::kLong);
    const at::Tensor first = table.narrow(0, 0, used_ - 1);
    const at::Tensor last = table.narrow(0, 1, used_ - 1);
    const at::Tensor zero = at::zeros({1, values.size(1)}, values.options());
    const at::Tensor prefix = at::cat({zero, values.cumsum(0)}, 0);
    const at::Tensor sum = prefix.index_select(0, last) - prefix.index_select(0, first);
    const at::Tensor count = (last - first).clamp_min(1).to(values.scalar_type());
    return sum / count.unsqueeze(1);
  }

  at::Tensor offsets() const {
    return offsets_.narrow(0, 0, used_).clone();
  }

 private:
  void write_offsets(const std::vector<int64_t>& lengths) {
    int32_t* out = host_offsets_.data_ptr<int32_t>();
    int32_t running = 0;
    out[0] = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      running += static_cast<int32_t>(lengths[i]);
      out[i + 1] = running;
    }
    used_ = static_cast<int64_t>(lengths.size()) + 1;
  }

  void upload() {
    offsets_.narrow(0, 0, used_).copy_(host_offsets_.narrow(0, 0, used_), /*non_blocking=*/true);
  }

  at::Device device_;
  int64_t capacity_;
  int64_t used_ = 0;
  at::Tensor host_offsets_;
  at::Tensor offsets_;
};

// Convenience wrapper for a list of steps.
std::vector<at::Tensor> pool_steps(Planner& planner,
                                   const std::vector<at::Tensor>& values,
                                   const std::vector<std::vector<int64_t>>& lengths) {
  TORCH_CHECK(values.size() == lengths.size(), "one length list per step");
  std::vector<at::Tensor> out;
  out.reserve(values.size());
  for (size_t step = 0; step < values.size(); ++step) {
    planner.plan(lengths[step]);
    out.push_back(planner.mean_pool(values[step]));
  }
  return out;
}

}  // namespace ragged

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<ragged::Planner>(m, "Planner")
      .def(pybind11::init<int64_t, int64_t>())
      .def("plan", &ragged::Planner::plan)
      .def("mean_pool", &ragged::Planner::mean_pool)
      .def("offsets", &ragged::Planner::offsets);
  m.def("pool_steps", &ragged::pool_steps);
}

// Accumulation of embedding gradients for the recommender trainer. Gradients are packed to half precision on the training stream
// and added to the master copy on a side stream, so that the backward pass of the next layer goes on meanwhile.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <memory>
#include <vector>

namespace recsys {

__global__ void add_packed(const at::Half* packed, const int64_t* rows, float* master, int64_t count, int64_t width) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= count * width) return;
  const int64_t row = rows[i / width];
  atomicAdd(&master[row * width + i % width], static_cast<float>(packed[i]));
}

class GradAccumulator {
 public:
  GradAccumulator(int64_t table_rows, int64_t width, int64_t device)
      : width_(width),
        device_(static_cast<c10::DeviceIndex>(device)),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device_)) {
    const c10::cuda::CUDAGuard guard(device_);
    master_ = at::zeros({table_rows, width}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device_));
    rows_ = at::arange(table_rows, at::TensorOptions().dtype(at::kLong).device(at::kCUDA, device_));
    master_.record_stream(side_);
    rows_.record_stream(side_);
  }

  // grad: one gradient row for every table row from first on.
  void accumulate(const at::Tensor& grad, int64_t first, double scale) {
    TORCH_CHECK(grad.is_cuda() && grad.dim() == 2 && grad.size(1) == width_, "unexpected gradient");
    TORCH_CHECK(first >= 0 && first + grad.size(0) <= master_.size(0), "rows out of range");
    const c10::cuda::CUDAGuard guard(device_);
    at::Tensor packed = pack(grad, scale);
    fork_side();
    launch_add(packed, rows_.narrow(0, first, grad.size(0)));
  }

  // Makes the current stream wait for everything accumulated so far.
  at::Tensor finish() {
    const c10::cuda::CUDAGuard guard(device_);
    at::cuda::CUDAEvent done;
    done.record(side_);
    done.block(at::cuda::getCurrentCUDAStream(device_));
    return master_;
  }

 private:
  static at::Tensor pack(const at::Tensor& grad, double scale) {
    return grad.mul(scale).to(at::kHalf).contiguous();
  }

  void fork_side() {
    at::cuda::CUDAEvent ready;
    ready.record(at::cuda::getCurrentCUDAStream(device_));
    ready.block(side_);
  }

  void launch_add(const at::Tensor& packed, const at::Tensor& rows) {
    const int64_t total = packed.numel();
    if (total == 0) return;
    add_packed<<<static_cast<unsigned>((total + 255) / 256), 256, 0, side_.stream()>>>(
        packed.data_ptr<at::Half>(), rows.data_ptr<int64_t>(), master_.data_ptr<float>(), packed.size(0), width_);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    packed.record_stream(side_);
  }

  int64_t width_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::Tensor master_;
  at::Tensor rows_;
};

at::Tensor accumulate_all(GradAccumulator& accumulator, const std::vector<at::Tensor>& grads, double scale) {
  int64_t first = 0;
  for (const at::Tensor& grad : grads) {
    accumulator.accumulate(grad, first, scale);
    first += grad.size(0);
  }
  return accumulator.finish();
}

}  // namespace recsys

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<recsys::GradAccumulator, std::shared_ptr<recsys::GradAccumulator>>(m, "GradAccumulator")
      .def(py::init<int64_t, int64_t, int64_t>())
      .def("accumulate", &recsys::GradAccumulator::accumulate)
      .def("finish", &recsys::GradAccumulator::finish);
  m.def("accumulate_all", &recsys::accumulate_all);
}

// Iterative CT reconstruction: back-projected slabs are weighted on the
// compute stream and summed into the volume on a stream of their own.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <vector>

namespace tomo {

class SlabReducer {
 public:
  SlabReducer(at::IntArrayRef shape, c10::DeviceIndex device)
      : device_(device), reduction_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {
    const c10::cuda::CUDAStreamGuard guard(reduction_);
    volume_ = at::zeros(shape, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device_));
  }
  ~SlabReducer() { reduction_.synchronize(); }
  SlabReducer(const SlabReducer&) = delete;
  SlabReducer& operator=(const SlabReducer&) = delete;

  /// Adds one weighted slab; returns before the addition is done.
  void submit(const at::Tensor& slab, double weight) {
    const c10::cuda::CUDAGuard device_guard(device_);
    at::Tensor weighted = slab.mul(weight);
    hand_over();
    accumulate(weighted);
  }

  /// The sum so far, usable on the current stream.
  at::Tensor result() {
    at::cuda::CUDAEvent done;
    done.record(reduction_);
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    done.block(current);
    volume_.record_stream(current.unwrap());
    return volume_;
  }

 private:
  void hand_over() {
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(device_));
    ready.block(reduction_);
  }

  void accumulate(const at::Tensor& weighted) {
    const c10::cuda::CUDAStreamGuard guard(reduction_);
    volume_.add_(weighted);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream reduction_;
  at::Tensor volume_;
};

at::Tensor back_project(const at::Tensor& sinogram, int64_t view, at::IntArrayRef shape) {
  const at::Tensor row = sinogram.select(0, view);
  return row.unsqueeze(-1).expand(shape).contiguous();
}

/// sinogram: views x rows, on the device.
at::Tensor reconstruct(const at::Tensor& sinogram, const std::vector<double>& weights) {
  TORCH_CHECK(sinogram.is_cuda() && sinogram.dim() == 2, "sinogram must be a matrix on a CUDA device");
  const std::vector<int64_t> shape = {sinogram.size(1), 512};
  SlabReducer reducer(shape, sinogram.device().index());
  for (int64_t view = 0; view < sinogram.size(0); ++view) {
    const at::Tensor slab = back_project(sinogram, view, shape);
    reducer.submit(slab, weights.at(static_cast<std::size_t>(view)));
  }
  return reducer.result().clone();
}

}  // namespace tomo

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("reconstruct", &tomo::reconstruct); }

// Filtered back-projection with overlap: views are filtered on an auxiliary stream and summed on the main one.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>

namespace fbp {

// The two streams of one reconstruction, handed to the stages by reference.
struct OverlapContext {
  c10::cuda::CUDAStream main;
  c10::cuda::CUDAStream aux;

  explicit OverlapContext(c10::DeviceIndex device)
      : main(c10::cuda::getCurrentCUDAStream(device)), aux(c10::cuda::getStreamFromPool(true, device)) {}

  void fork() {
    at::cuda::CUDAEvent event;
    event.record(main);
    event.block(aux);
  }
  void join() {
    at::cuda::CUDAEvent event;
    event.record(aux);
    event.block(main);
  }
};

class RampFilter {
 public:
  explicit RampFilter(const at::Tensor& response) : response_(response) {}

  // The filtered view; made on the auxiliary stream.
  at::Tensor apply(OverlapContext& ctx, const at::Tensor& view) const {
    c10::cuda::CUDAStreamGuard guard(ctx.aux);
    return view.mul(response_);
  }

 private:
  at::Tensor response_;
};

class Backprojector {
 public:
  Backprojector(const at::Tensor& weights, std::int64_t pixels, const at::TensorOptions& options)
      : weights_(weights), image_(at::zeros({pixels}, options)) {}

  // Adds one view on the main stream, which is current here.
  void add(const at::Tensor& filtered, std::int64_t angle) {
    image_.addmv_(weights_.select(0, angle), filtered);
  }

  at::Tensor image() const { return image_; }

 private:
  at::Tensor weights_;
  at::Tensor image_;
};

struct FilteredView {
  std::int64_t angle;
  at::Tensor data;
};

class Reconstructor {
 public:
  Reconstructor(const at::Tensor& response, const at::Tensor& weights)
      : filter_(response), weights_(weights) {}

  // views: [angles, detectors]. The image is ready on the current stream.
  at::Tensor reconstruct(const at::Tensor& views) {
    TORCH_CHECK(views.is_cuda() && views.dim() == 2, "views must be a CUDA matrix");
    c10::cuda::CUDAGuard device(views.device());
    OverlapContext ctx(views.get_device());
    Backprojector projector(weights_, weights_.size(1), views.options());

    ctx.fork();
    for (std::int64_t a = 0; a < views.size(0); ++a) {
      FilteredView view = filterView(ctx, views, a);
      projector.add(view.data, view.angle);
    }
    return projector.image();
  }

 private:
  FilteredView filterView(OverlapContext& ctx, const at::Tensor& views, std::int64_t angle) {
    FilteredView out{angle, filter_.apply(ctx, views.select(0, angle))};
    ctx.join();
    return out;
  }

  RampFilter filter_;
  at::Tensor weights_;
};

}  // namespace fbp

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<fbp::Reconstructor>(m, "Reconstructor")
      .def(py::init<at::Tensor, at::Tensor>())
      .def("reconstruct", &fbp::Reconstructor::reconstruct);
}

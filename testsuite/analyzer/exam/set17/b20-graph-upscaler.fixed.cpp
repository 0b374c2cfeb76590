// Image upscaler that replays a captured network step.  Finished images are cloned on a
// delivery stream, so that the copies overlap with the next image.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace upscale {

class CapturedUpscaler {
 public:
  CapturedUpscaler(int64_t height, int64_t width, at::Tensor kernel)
      : run_(at::cuda::getStreamFromPool(/*isHighPriority=*/true)),
        delivery_(at::cuda::getStreamFromPool()),
        kernel_(std::move(kernel)) {
    TORCH_CHECK(kernel_.is_cuda() && kernel_.dim() == 4, "kernel must be a CUDA filter bank");
    at::cuda::CUDAEvent weights;
    weights.record(at::cuda::getCurrentCUDAStream());
    weights.block(run_);
    c10::cuda::CUDAStreamGuard guard(run_);
    input_ = at::zeros({1, 3, height, width}, kernel_.options());
    forward();  // warm-up outside of the capture
    run_.synchronize();
    graph_.capture_begin();
    output_ = forward();
    graph_.capture_end();
  }

  ~CapturedUpscaler() {
    run_.synchronize();
    delivery_.synchronize();
  }

  // Queues one image that was made on the caller's current stream.
  void submit(const at::Tensor& image) {
    replay(image);
    deliver();
  }

  // Hands over all results so far, for use on the caller's current stream.
  std::vector<at::Tensor> collect() {
    const auto caller = at::cuda::getCurrentCUDAStream();
    delivered_.block(caller);
    for (const at::Tensor& result : results_) result.record_stream(caller);
    return std::exchange(results_, {});
  }

 private:
  at::Tensor forward() {
    at::Tensor wide = at::upsample_nearest2d(input_, {2 * input_.size(2), 2 * input_.size(3)});
    at::Tensor sharp = at::conv2d(wide, kernel_, {}, 1, kernel_.size(2) / 2);
    return at::clamp(sharp, 0.0, 1.0);
  }

  void replay(const at::Tensor& image) {
    imageReady_.record(at::cuda::getCurrentCUDAStream());
    imageReady_.block(run_);
    c10::cuda::CUDAStreamGuard guard(run_);
    input_.copy_(image, /*non_blocking=*/true);
    image.record_stream(run_);
    delivered_.block(run_);
    graph_.replay();
    computed_.record(run_);
  }

  void deliver() {
    computed_.block(delivery_);
    c10::cuda::CUDAStreamGuard guard(delivery_);
    results_.push_back(output_.clone());
    delivered_.record(delivery_);
  }

  c10::cuda::CUDAStream run_, delivery_;
  at::Tensor kernel_, input_, output_;
  std::vector<at::Tensor> results_;
  at::cuda::CUDAGraph graph_;
  at::cuda::CUDAEvent imageReady_, computed_, delivered_;
};

// Upscales a clip; returns one tensor per frame.
std::vector<at::Tensor> upscaleClip(const std::vector<at::Tensor>& frames, const at::Tensor& kernel) {
  TORCH_CHECK(!frames.empty(), "no frames");
  const at::Tensor& first = frames.front();
  CapturedUpscaler upscaler(first.size(2), first.size(3), kernel);
  for (const at::Tensor& frame : frames) upscaler.submit(frame);
  return upscaler.collect();
}

}  // namespace upscale

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("upscale_clip", &upscale::upscaleClip);
}

// Noise gate for spectrograms, run on a worker stream of its own.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>

namespace gate {

template <typename scalar_t>
__global__ void gateKernel(scalar_t* mag, const scalar_t* floorLevel, scalar_t ratio,
                           int64_t frames, int64_t bins) {
  const int64_t bin = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t frame = blockIdx.y;
  if (bin >= bins || frame >= frames) return;
  scalar_t& m = mag[frame * bins + bin];
  const scalar_t limit = floorLevel[bin] * ratio;
  if (m < limit) m = scalar_t(0);
}

struct GateConfig {
  double ratio = 2.0;
  double makeupGain = 1.0;
};

// Zeroes, in place, the cells of `mag` that are below the noise floor of their bin.
void suppress(at::Tensor& mag, const at::Tensor& floorLevel, const GateConfig& cfg) {
  TORCH_CHECK(mag.is_cuda() && mag.dim() == 2, "expected a CUDA matrix");
  TORCH_CHECK(mag.is_contiguous() && floorLevel.is_contiguous(), "expected contiguous tensors");
  const int64_t frames = mag.size(0);
  const int64_t bins = mag.size(1);
  if (frames == 0 || bins == 0) return;
  const dim3 block(128);
  const dim3 grid((bins + block.x - 1) / block.x, frames);
  AT_DISPATCH_FLOATING_TYPES(mag.scalar_type(), "suppress", [&] {
    gateKernel<scalar_t><<<grid, block, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(
        mag.data_ptr<scalar_t>(), floorLevel.data_ptr<scalar_t>(),
        static_cast<scalar_t>(cfg.ratio), frames, bins);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

class GateWorker {
 public:
  explicit GateWorker(GateConfig cfg, c10::DeviceIndex device)
      : cfg_(cfg), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Returns a tensor that is ready on the caller's current stream.
  at::Tensor process(const at::Tensor& frames) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    at::cuda::CUDAEvent submitted;
    submitted.record(caller);
    submitted.block(stream_);
    frames.record_stream(stream_);

    at::Tensor out = runOnWorker(frames);

    at::cuda::CUDAEvent finished;
    finished.record(stream_);
    finished.block(caller);
    out.record_stream(caller);
    return out;
  }

 private:
  at::Tensor runOnWorker(const at::Tensor& frames) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor mag = frames.abs().contiguous();
    const at::Tensor floorLevel = std::get<0>(mag.median(/*dim=*/0)).contiguous();
    suppress(mag, floorLevel, cfg_);
    return mag.mul(cfg_.makeupGain);
  }

  GateConfig cfg_;
  c10::cuda::CUDAStream stream_;
};

}  // namespace gate

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<gate::GateWorker>(m, "GateWorker")
      .def(pybind11::init([](double ratio, double gain, int device) {
        return new gate::GateWorker({ratio, gain}, static_cast<c10::DeviceIndex>(device));
      }))
      .def("process", &gate::GateWorker::process);
}

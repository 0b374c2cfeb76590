// Speech features: spectrogram chunks are made on an auxiliary stream and pooled on the caller's stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace speech {

// A tensor together with the stream on which it is ready.
class StreamedTensor {
 public:
  StreamedTensor(at::Tensor value, c10::cuda::CUDAStream producer) : value_(std::move(value)), producer_(producer) {
    ready_.record(producer_);
  }
  StreamedTensor(StreamedTensor&&) = default;

  // Hands the tensor over to `consumer`; it may die as soon as the consumer's work has been enqueued.
  const at::Tensor& on(const c10::cuda::CUDAStream& consumer) {
    ready_.block(consumer);
    value_.record_stream(consumer.unwrap());
    return value_;
  }

 private:
  at::Tensor value_;
  c10::cuda::CUDAStream producer_;
  at::cuda::CUDAEvent ready_;
};

class SpectrogramStage {
 public:
  SpectrogramStage(at::Tensor basis, c10::DeviceIndex device)
      : basis_(std::move(basis)), stream_(c10::cuda::getStreamFromPool(false, device)) {}

  // Earlier work of `caller` comes before what this stage is given from now on.
  void attach(const c10::cuda::CUDAStream& caller) {
    at::cuda::CUDAEvent event;
    event.record(caller);
    event.block(stream_);
  }

  // Makes `caller` wait for everything that this stage has been given.
  void detach(const c10::cuda::CUDAStream& caller) {
    at::cuda::CUDAEvent event;
    event.record(stream_);
    event.block(caller);
  }

  StreamedTensor run(const at::Tensor& frames) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    at::Tensor spectrum = at::matmul(frames, basis_);
    return StreamedTensor(spectrum.square().add_(1e-6).log_(), stream_);
  }

 private:
  at::Tensor basis_;
  c10::cuda::CUDAStream stream_;
};

class FeatureExtractor {
 public:
  FeatureExtractor(at::Tensor basis, at::Tensor mel) : basis_(std::move(basis)), mel_(std::move(mel)) {}

  // waveform: [chunks, frames, window] -> [chunks, mel], ready on the current stream.
  at::Tensor extract(const at::Tensor& waveform) {
    TORCH_CHECK(waveform.is_cuda() && waveform.dim() == 3, "waveform must be a CUDA tensor of three dimensions");
    c10::cuda::CUDAGuard device(waveform.device());
    const auto caller = c10::cuda::getCurrentCUDAStream(waveform.get_device());
    SpectrogramStage stage(basis_, waveform.get_device());
    std::vector<at::Tensor> pooled;

    stage.attach(caller);
    for (std::int64_t c = 0; c < waveform.size(0); ++c) {
      StreamedTensor spectrum = stage.run(waveform.select(0, c));
      pooled.push_back(at::matmul(spectrum.on(caller), mel_).mean(0));
    }
    stage.detach(caller);
    return at::stack(pooled, 0);
  }

 private:
  at::Tensor basis_;
  at::Tensor mel_;
};

}  // namespace speech

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<speech::FeatureExtractor>(m, "FeatureExtractor")
      .def(py::init<at::Tensor, at::Tensor>())
      .def("extract", &speech::FeatureExtractor::extract);
}

// Streaming log-mel front end: the per-chunk pipeline is captured into one CUDA graph.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <memory>
#include <vector>

namespace audio {

struct FrontEndOptions {
  int64_t sample_rate = 16000;
  int64_t chunk = 16000;
  int64_t n_fft = 512;
  int64_t hop = 160;
  int64_t mels = 80;
};

inline double hz_to_mel(double hz) { return 2595.0 * std::log10(1.0 + hz / 700.0); }
inline double mel_to_hz(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

torch::Tensor mel_matrix(const FrontEndOptions& o) {
  const int64_t bins = o.n_fft / 2 + 1;
  torch::Tensor m = torch::zeros({o.mels, bins});
  auto acc = m.accessor<float, 2>();
  const double top = hz_to_mel(o.sample_rate / 2.0);
  for (int64_t k = 0; k < o.mels; ++k) {
    const double lo = mel_to_hz(top * k / (o.mels + 1));
    const double mid = mel_to_hz(top * (k + 1) / (o.mels + 1));
    const double hi = mel_to_hz(top * (k + 2) / (o.mels + 1));
    for (int64_t b = 0; b < bins; ++b) {
      const double f = double(b) * o.sample_rate / o.n_fft;
      const double up = (f - lo) / (mid - lo);
      const double down = (hi - f) / (hi - mid);
      acc[k][b] = float(std::max(0.0, std::min(up, down)));
    }
  }
  return m;
}

class LogMelFrontEnd {
 public:
  explicit LogMelFrontEnd(FrontEndOptions options, c10::Device device) : options_(options), device_(device) {
    c10::cuda::CUDAGuard guard(device_);
    mels_ = mel_matrix(options_).to(device_);
    input_ = torch::zeros({options_.chunk}, torch::TensorOptions().dtype(torch::kFloat32).device(device_));
    record();
  }

  // Returns a fresh tensor; the static output belongs to the next chunk.
  torch::Tensor operator()(const torch::Tensor& samples) {
    TORCH_CHECK(samples.numel() == options_.chunk, "expected one full chunk");
    c10::cuda::CUDAGuard guard(device_);
    input_.copy_(samples);
    graph_.replay();
    return output_.clone();
  }

 private:
  torch::Tensor pipeline() {
    torch::Tensor frames = input_.unfold(0, options_.n_fft, options_.hop);
    torch::Tensor spectrum = torch::fft_rfft(frames * window_, options_.n_fft, -1);
    torch::Tensor power = torch::real(spectrum * spectrum.conj());
    return torch::log(torch::matmul(power, mels_.t()) + 1e-6);
  }

  void record() {
    window_ = torch::hann_window(options_.n_fft, torch::TensorOptions().dtype(torch::kFloat32).device(device_));
    auto current = c10::cuda::getCurrentCUDAStream();
    auto capture = c10::cuda::getStreamFromPool(false, device_.index());

    at::cuda::CUDAEvent ready;
    ready.record(current);
    ready.block(capture);
    {
      c10::cuda::CUDAStreamGuard on_capture(capture);
      pipeline();
      graph_.capture_begin();
      output_ = pipeline();
      graph_.capture_end();
    }
    at::cuda::CUDAEvent warmed_up;
    warmed_up.record(capture);
    warmed_up.block(current);
  }

  FrontEndOptions options_;
  c10::Device device_;
  torch::Tensor mels_;
  torch::Tensor input_;
  torch::Tensor window_;
  torch::Tensor output_;
  at::cuda::CUDAGraph graph_;
};

// Features of a whole recording, chunk by chunk.
std::vector<torch::Tensor> transcribe_features(const torch::Tensor& recording, int64_t device_index) {
  FrontEndOptions options;
  LogMelFrontEnd front_end(options, c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index)));
  std::vector<torch::Tensor> features;
  for (int64_t at = 0; at + options.chunk <= recording.numel(); at += options.chunk)
    features.push_back(front_end(recording.narrow(0, at, options.chunk)));
  return features;
}

}  // namespace audio

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("transcribe_features", &audio::transcribe_features, "log-mel features of a recording");
}

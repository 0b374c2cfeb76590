// Downward expander for multichannel recordings, exposed to Python.
//
// The envelope follower is expressed with ATen ops; the gain computer is a
// hand-written kernel because the attack/release recursion does not vectorise.
// Everything runs on a stream of its own so that the UI's inference work is
// not delayed by long recordings.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace dsp {

struct ExpanderParams {
  float threshold = 0.02f;
  float ratio = 3.0f;
  float attack = 0.05f;
  float release = 0.002f;
};

// One thread follows one channel; the recursion is sequential in time.
__global__ void expander_gain_kernel(const float* __restrict__ envelope, float* __restrict__ gain,
                                     int64_t channels, int64_t frames, ExpanderParams p) {
  const int64_t ch = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (ch >= channels) return;
  const float* e = envelope + ch * frames;
  float* g = gain + ch * frames;
  float state = 1.0f;
  for (int64_t t = 0; t < frames; ++t) {
    const float target = e[t] >= p.threshold ? 1.0f : powf(e[t] / p.threshold, p.ratio - 1.0f);
    const float k = target > state ? p.attack : p.release;
    state += k * (target - state);
    g[t] = state;
  }
}

void launch_expander(const at::Tensor& envelope, at::Tensor& gain, const ExpanderParams& p) {
  TORCH_CHECK(envelope.is_contiguous() && gain.is_contiguous(), "expander: tensors must be contiguous");
  TORCH_CHECK(envelope.scalar_type() == at::kFloat, "expander: float32 expected");

  const int64_t channels = envelope.size(0);
  const int64_t frames = envelope.size(1);
  constexpr int kThreads = 64;
  const int blocks = static_cast<int>((channels + kThreads - 1) / kThreads);
  [[maybe_unused]] const cudaStream_t stream = at::cuda::getCurrentCUDAStream(envelope.get_device()).stream();

  expander_gain_kernel<<<blocks, kThreads>>>(envelope.data_ptr<float>(), gain.data_ptr<float>(), channels, frames, p);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

class Expander {
 public:
  Expander(ExpanderParams params, int device)
      : params_(params), side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, static_cast<c10::DeviceIndex>(device))) {}

  // samples: [channels, frames]; the result is usable on the caller's current stream.
  at::Tensor process(const at::Tensor& samples) {
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(samples.get_device());
    at::cuda::CUDAEvent inputs_ready;
    inputs_ready.record(caller);
    inputs_ready.block(side_);

    at::Tensor out;
    {
      c10::cuda::CUDAStreamGuard guard(side_);
      at::Tensor envelope = follow(samples);
      at::Tensor gain = at::empty_like(envelope);
      launch_expander(envelope, gain, params_);
      out = samples * gain;
    }
    samples.record_stream(side_);

    at::cuda::CUDAEvent outputs_ready;
    outputs_ready.record(side_);
    outputs_ready.block(caller);
    out.record_stream(caller);
    return out;
  }

 private:
  static at::Tensor follow(const at::Tensor& samples) {
    // 64-tap rectified moving average.
    at::Tensor rectified = samples.abs().unsqueeze(1);
    at::Tensor padded = at::constant_pad_nd(rectified, {63, 0}, 0);
    return at::avg_pool1d(padded, {64}, {1}).squeeze(1).contiguous();
  }

  ExpanderParams params_;
  c10::cuda::CUDAStream side_;
};

}  // namespace dsp

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<dsp::ExpanderParams>(m, "ExpanderParams")
      .def(py::init<>())
      .def_readwrite("threshold", &dsp::ExpanderParams::threshold)
      .def_readwrite("ratio", &dsp::ExpanderParams::ratio)
      .def_readwrite("attack", &dsp::ExpanderParams::attack)
      .def_readwrite("release", &dsp::ExpanderParams::release);
  py::class_<dsp::Expander>(m, "Expander")
      .def(py::init<dsp::ExpanderParams, int>())
      .def("process", &dsp::Expander::process);
}

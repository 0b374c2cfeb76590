// Decodes packed lidar sweeps into range images. The decoder has a private stream for its bit unpacking.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace lidar {

constexpr int kBeams = 128;

__global__ void unpackRanges(const std::uint8_t* packed, float* range, int columns, float resolution) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int beam = blockIdx.y;
  if (col >= columns) return;
  const std::uint8_t* p = packed + (std::int64_t(col) * kBeams + beam) * 3;
  unsigned raw = p[0] | (p[1] << 8) | (p[2] << 16);
  range[std::int64_t(beam) * columns + col] = raw * resolution;
}

__global__ void despeckle(float* range, int columns, float maxRange) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int beam = blockIdx.y;
  if (col >= columns) return;
  float& r = range[std::int64_t(beam) * columns + col];
  if (r < 0.5f || r > maxRange) r = 0.f;
}

// Raw stream and its events; made once per device.
class DecoderEngine {
 public:
  explicit DecoderEngine(c10::DeviceIndex device) : device_(device) {
    c10::cuda::CUDAGuard guard(device_);
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&input_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&output_, cudaEventDisableTiming));
  }
  ~DecoderEngine() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(output_);
    cudaEventDestroy(input_);
    cudaStreamDestroy(stream_);
  }
  DecoderEngine(const DecoderEngine&) = delete;
  DecoderEngine& operator=(const DecoderEngine&) = delete;

  void run(const std::uint8_t* packed, float* range, int columns, float resolution, float maxRange) {
    const dim3 grid((columns + 127) / 128, kBeams);
    unpackRanges<<<grid, 128, 0, stream_>>>(packed, range, columns, resolution);
    despeckle<<<grid, 128, 0, stream_>>>(range, columns, maxRange);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  void enterFrom(cudaStream_t caller) {
    C10_CUDA_CHECK(cudaEventRecord(input_, caller));
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream_, input_, 0));
  }

  void leaveTo(cudaStream_t caller) {
    C10_CUDA_CHECK(cudaEventRecord(output_, stream_));
    C10_CUDA_CHECK(cudaStreamWaitEvent(caller, output_, 0));
  }

  std::mutex& mutex() { return mutex_; }

 private:
  c10::DeviceIndex device_;
  cudaStream_t stream_{};
  cudaEvent_t input_{};
  cudaEvent_t output_{};
  std::mutex mutex_;
};

DecoderEngine& engineFor(c10::DeviceIndex device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, std::unique_ptr<DecoderEngine>> engines;
  std::lock_guard<std::mutex> lock(mutex);
  auto& engine = engines[device];
  if (!engine) engine = std::make_unique<DecoderEngine>(device);
  return *engine;
}

// packed: uint8 [columns, 128, 3] -> float [128, columns], ready on the current stream.
at::Tensor decodeSweep(const at::Tensor& packed, double resolution, double maxRange) {
  TORCH_CHECK(packed.is_cuda() && packed.scalar_type() == at::kByte, "packed sweep must be a CUDA byte tensor");
  TORCH_CHECK(packed.dim() == 3 && packed.size(1) == kBeams && packed.size(2) == 3, "wrong shape");
  c10::cuda::CUDAGuard device(packed.device());
  const auto caller = at::cuda::getCurrentCUDAStream();

  at::Tensor dense = packed.contiguous();
  const int columns = static_cast<int>(dense.size(0));
  at::Tensor range = at::empty({kBeams, columns}, packed.options().dtype(at::kFloat));

  DecoderEngine& engine = engineFor(packed.get_device());
  std::lock_guard<std::mutex> lock(engine.mutex());
  engine.run(dense.data_ptr<std::uint8_t>(), range.data_ptr<float>(), columns, static_cast<float>(resolution),
             static_cast<float>(maxRange));
  engine.leaveTo(caller);
  return range;
}

// Decodes a sweep that arrives in two halves and returns the closest return per beam.
at::Tensor closestReturns(const at::Tensor& first, const at::Tensor& second, double resolution) {
  at::Tensor sweep = at::cat({first, second}, 0);
  at::Tensor range = decodeSweep(sweep, resolution, 250.0);
  return std::get<0>(range.min(1));
}

}  // namespace lidar

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("decode_sweep", &lidar::decodeSweep);
  m.def("closest_returns", &lidar::closestReturns);
}

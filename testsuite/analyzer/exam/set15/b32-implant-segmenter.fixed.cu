// Implant segmentation for dental volumes. The engine keeps a stream of its own (its launches are tuned for a high priority
// queue) and is called from the data pipeline with tensors.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <memory>

namespace implant {

__global__ void threshold_metal(const float* hounsfield, uint8_t* mask, int64_t n, float level) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) mask[i] = hounsfield[i] > level ? 1 : 0;
}

__global__ void erode(const uint8_t* in, uint8_t* out, int64_t n, int64_t row) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const bool inside = i >= row && i + row < n;
  out[i] = inside && in[i] && in[i - 1] && in[i + 1] && in[i - row] && in[i + row];
}

class Engine {
 public:
  Engine(int device, int64_t max_voxels) : device_(device), max_voxels_(max_voxels) {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    int least = 0, greatest = 0;
    C10_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    C10_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest));
    C10_CUDA_CHECK(cudaMalloc(&rough_, max_voxels));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&inputs_, cudaEventDisableTiming));
  }
  ~Engine() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(inputs_);
    cudaFree(rough_);
    cudaStreamDestroy(stream_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs on the engine's stream; the result is on the device when the call returns.
  void run(const float* volume, uint8_t* mask, int64_t voxels, int64_t row, float level) {
    C10_CUDA_CHECK(cudaEventRecord(inputs_, at::cuda::getCurrentCUDAStream()));
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream_, inputs_, 0));
    const unsigned blocks = static_cast<unsigned>((voxels + 255) / 256);
    threshold_metal<<<blocks, 256, 0, stream_>>>(volume, rough_, voxels, level);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    erode<<<blocks, 256, 0, stream_>>>(rough_, mask, voxels, row);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream() const { return stream_; }
  int device() const { return device_; }
  int64_t max_voxels() const { return max_voxels_; }

 private:
  int device_;
  int64_t max_voxels_;
  cudaStream_t stream_ = nullptr;
  uint8_t* rough_ = nullptr;
  cudaEvent_t inputs_ = nullptr;
};

class Segmenter {
 public:
  Segmenter(int64_t device, int64_t max_voxels) : engine_(static_cast<int>(device), max_voxels) {}

  // raw: detector counts as they come from the reader, any dtype.
  at::Tensor segment(const at::Tensor& raw, double slope, double intercept, double level) {
    TORCH_CHECK(raw.is_cuda() && raw.dim() == 3, "expected a CUDA volume");
    TORCH_CHECK(raw.get_device() == engine_.device(), "volume lies on another device");
    TORCH_CHECK(raw.numel() <= engine_.max_voxels(), "volume too large");
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(engine_.device()));
    const at::Tensor hounsfield = calibrate(raw, slope, intercept);
    at::Tensor mask = at::empty(raw.sizes(), raw.options().dtype(at::kByte));
    engine_.run(hounsfield.data_ptr<float>(), mask.data_ptr<uint8_t>(), raw.numel(), raw.size(2), static_cast<float>(level));
    return mask;
  }

 private:
  static at::Tensor calibrate(const at::Tensor& raw, double slope, double intercept) {
    return raw.to(at::kFloat).mul(slope).add_(intercept).contiguous();
  }

  Engine engine_;
};

}  // namespace implant

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<implant::Segmenter, std::shared_ptr<implant::Segmenter>>(m, "Segmenter")
      .def(py::init<int64_t, int64_t>())
      .def("segment", &implant::Segmenter::segment);
}

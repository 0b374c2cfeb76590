// Hands camera frames, which a capture pipeline keeps on the device, to a PyTorch model.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <cuda_runtime.h>

#include <cstdint>

namespace robot {

// Stand-in for the ISP: unpacks a synthetic Bayer pattern.
__global__ void debayer(uchar4* frame, int width, int height, int tick) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) frame[y * width + x] = make_uchar4(x + tick, y, tick, 255);
}

class CameraPipeline {
 public:
  CameraPipeline(int width, int height, c10::DeviceIndex device) : width_(width), height_(height), device_(device) {
    const c10::cuda::CUDAGuard guard(device_);
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&exposed_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&taken_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&frame_), bytes()));
  }
  ~CameraPipeline() {
    const c10::cuda::CUDAGuard guard(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(frame_);
    cudaEventDestroy(exposed_);
    cudaEventDestroy(taken_);
    cudaStreamDestroy(stream_);
  }
  CameraPipeline(const CameraPipeline&) = delete;
  CameraPipeline& operator=(const CameraPipeline&) = delete;

  // Exposes the next frame.
  void grab() {
    const c10::cuda::CUDAGuard guard(device_);
    debayer<<<dim3((width_ + 127) / 128, height_), 128, 0, stream_>>>(frame_, width_, height_, tick_++);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  // A copy of the latest frame as [height, width, 4] bytes.
  at::Tensor fetch() {
    const c10::cuda::CUDAGuard guard(device_);
    at::Tensor out = at::empty({height_, width_, 4}, at::TensorOptions().dtype(at::kByte).device(at::kCUDA, device_));
    const cudaStream_t current = at::cuda::getCurrentCUDAStream(device_).stream();
    C10_CUDA_CHECK(cudaEventRecord(exposed_, stream_));
    C10_CUDA_CHECK(cudaStreamWaitEvent(current, exposed_, 0));
    copyFrame(out, current);
    C10_CUDA_CHECK(cudaEventRecord(taken_, current));
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream_, taken_, 0));
    return out;
  }

 private:
  size_t bytes() const { return size_t(width_) * height_ * sizeof(uchar4); }

  void copyFrame(at::Tensor& out, cudaStream_t stream) {
    C10_CUDA_CHECK(cudaMemcpyAsync(out.data_ptr(), frame_, bytes(), cudaMemcpyDeviceToDevice, stream));
  }

  int width_, height_, tick_ = 0;
  c10::DeviceIndex device_;
  cudaStream_t stream_{};
  cudaEvent_t exposed_{}, taken_{};
  uchar4* frame_ = nullptr;
};

// Model input: normalised RGB planes on the current stream.
at::Tensor observe(CameraPipeline& camera) {
  at::NoGradGuard noGrad;
  camera.grab();
  at::Tensor raw = camera.fetch();
  at::Tensor rgb = raw.slice(/*dim=*/2, 0, 3).to(at::kFloat);
  return rgb.div_(255.0).permute({2, 0, 1}).unsqueeze(0);
}

// Running mean of the scene, used for change detection.
void updateBackground(CameraPipeline& camera, at::Tensor& background, double rate) {
  at::NoGradGuard noGrad;
  at::Tensor now = observe(camera);
  background.mul_(1.0 - rate).add_(now, rate);
}

}  // namespace robot

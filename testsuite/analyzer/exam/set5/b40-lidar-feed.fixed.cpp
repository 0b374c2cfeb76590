// Bridge between the point-cloud decoder (own stream, own ring of device frames) and tensors of the host application.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace lidar {

constexpr int64_t kPoints = 131072;
constexpr size_t kFrameBytes = kPoints * 4 * sizeof(float);

class PacketSource {
 public:
  virtual ~PacketSource() = default;
  virtual bool read(void* dst, size_t bytes) = 0;
};

class Decoder {
 public:
  explicit Decoder(PacketSource& src) : src_(src) {
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (auto& f : frames_) {
      C10_CUDA_CHECK(cudaMallocHost(&f.host, kFrameBytes));
      C10_CUDA_CHECK(cudaMalloc(&f.dev, kFrameBytes));
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&f.uploaded, cudaEventDisableTiming));
    }
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming));
  }
  ~Decoder() {
    cudaStreamSynchronize(stream_);
    for (auto& f : frames_) {
      cudaEventDestroy(f.uploaded);
      cudaFree(f.dev);
      cudaFreeHost(f.host);
    }
    cudaEventDestroy(joined_);
    cudaStreamDestroy(stream_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool decode() {
    Frame& f = frames_[++turn_ % frames_.size()];
    C10_CUDA_CHECK(cudaEventSynchronize(f.uploaded));
    if (!src_.read(f.host, kFrameBytes)) return false;
    C10_CUDA_CHECK(cudaMemcpyAsync(f.dev, f.host, kFrameBytes, cudaMemcpyHostToDevice, stream_));
    C10_CUDA_CHECK(cudaEventRecord(f.uploaded, stream_));
    return true;
  }

  // Copies the frame decoded last into memory of the application.
  void share(void* dst) {
    const Frame& f = frames_[turn_ % frames_.size()];
    C10_CUDA_CHECK(cudaMemcpyAsync(dst, f.dev, kFrameBytes, cudaMemcpyDeviceToDevice, stream_));
  }

  // The decoder continues after what `app` has queued so far.
  void follow(cudaStream_t app) {
    C10_CUDA_CHECK(cudaEventRecord(joined_, app));
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream_, joined_, 0));
  }

  // `app` continues after what the decoder has queued so far.
  void lead(cudaStream_t app) {
    C10_CUDA_CHECK(cudaEventRecord(joined_, stream_));
    C10_CUDA_CHECK(cudaStreamWaitEvent(app, joined_, 0));
  }

 private:
  struct Frame {
    void* host = nullptr;
    void* dev = nullptr;
    cudaEvent_t uploaded = nullptr;
  };
  PacketSource& src_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t joined_ = nullptr;
  std::array<Frame, 3> frames_{};
  uint64_t turn_ = 0;
};

class FrameTensors {
 public:
  FrameTensors(Decoder& d, c10::Device dev) : decoder_(d), device_(dev) {}

  bool fetch(at::Tensor& out) {
    if (!decoder_.decode()) return false;
    if (!out.defined()) out = at::empty({kPoints, 4}, at::device(device_).dtype(at::kFloat));
    auto app = c10::cuda::getCurrentCUDAStream(device_.index());
    decoder_.follow(app);
    decoder_.share(out.mutable_data_ptr());
    decoder_.lead(app);
    return true;
  }

 private:
  Decoder& decoder_;
  c10::Device device_;
};

at::Tensor occupancy(const at::Tensor& cloud, double cell, int64_t bins) {
  at::Tensor ij = cloud.narrow(1, 0, 2).div(cell).floor().to(at::kLong).clamp(0, bins - 1);
  at::Tensor flat = ij.select(1, 0) * bins + ij.select(1, 1);
  return at::zeros({bins * bins}, cloud.options()).index_add_(0, flat, cloud.select(1, 3));
}

at::Tensor accumulate(PacketSource& src, c10::Device dev, int64_t bins) {
  c10::cuda::CUDAGuard guard(dev);
  Decoder decoder(src);
  FrameTensors frames(decoder, dev);
  at::Tensor cloud, map = at::zeros({bins * bins}, at::device(dev).dtype(at::kFloat));
  while (frames.fetch(cloud)) map.add_(occupancy(cloud, 0.25, bins));
  return map.cpu();
}

}  // namespace lidar

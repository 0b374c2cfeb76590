// Feeds mass spectra from a reader into PyTorch. Batches are prefetched to the device on a stream of the feed
// and handed out as tensors.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace spectra {

// Fills `dst` with the next batch; false at the end of the file.
using Reader = std::function<bool(std::int16_t* dst, std::size_t count)>;

class DeviceFeed {
 public:
  DeviceFeed(Reader reader, int64_t batch, int64_t bins, int device)
      : reader_(std::move(reader)), batch_(batch), bins_(bins), device_(device) {
    c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device_));
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&handover_, cudaEventDisableTiming));
    for (Slot& s : slots_) {
      C10_CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&s.host), bytes()));
      C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&s.device), bytes()));
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
      prefetch(s);
    }
  }
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;
  ~DeviceFeed() {
    cudaStreamSynchronize(stream_);
    for (Slot& s : slots_) {
      cudaFreeHost(s.host);
      cudaFree(s.device);
      cudaEventDestroy(s.uploaded);
    }
    cudaEventDestroy(handover_);
    cudaStreamDestroy(stream_);
  }

  bool exhausted() const { return !slots_[turn_].filled; }

  // Copies the oldest prefetched batch into `dst` and starts to prefetch another.
  void fill(torch::Tensor& dst) {
    TORCH_CHECK(dst.is_cuda() && dst.is_contiguous() && dst.scalar_type() == torch::kInt16);
    TORCH_CHECK(dst.numel() == batch_ * bins_);
    Slot& s = slots_[turn_];
    turn_ = (turn_ + 1) % slots_.size();
    awaitCaller();
    C10_CUDA_CHECK(cudaMemcpyAsync(dst.data_ptr<int16_t>(), s.device, bytes(), cudaMemcpyDeviceToDevice, stream_));
    prefetch(s);
  }

  int64_t batch() const { return batch_; }
  int64_t bins() const { return bins_; }
  int device() const { return device_; }

 private:
  struct Slot {
    std::int16_t* host = nullptr;
    std::int16_t* device = nullptr;
    cudaEvent_t uploaded = nullptr;
    bool filled = false;
  };

  std::size_t bytes() const { return static_cast<std::size_t>(batch_ * bins_) * sizeof(std::int16_t); }

  // The destination may still be in use by what the caller has enqueued.
  void awaitCaller() {
    C10_CUDA_CHECK(cudaEventRecord(handover_, at::cuda::getCurrentCUDAStream(device_)));
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream_, handover_, 0));
  }

  void prefetch(Slot& s) {
    C10_CUDA_CHECK(cudaEventSynchronize(s.uploaded));
    s.filled = reader_(s.host, static_cast<std::size_t>(batch_ * bins_));
    if (!s.filled) return;
    C10_CUDA_CHECK(cudaMemcpyAsync(s.device, s.host, bytes(), cudaMemcpyHostToDevice, stream_));
    C10_CUDA_CHECK(cudaEventRecord(s.uploaded, stream_));
  }

  Reader reader_;
  int64_t batch_, bins_;
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t handover_ = nullptr;
  std::array<Slot, 3> slots_{};
  std::size_t turn_ = 0;
};

torch::Tensor nextBatch(DeviceFeed& feed) {
  auto raw = torch::empty({feed.batch(), feed.bins()},
                          torch::dtype(torch::kInt16).device(torch::kCUDA, feed.device()));
  feed.fill(raw);
  return raw;
}

// Mean spectrum of the whole file, with every spectrum normalised to its total ion current.
torch::Tensor meanSpectrum(DeviceFeed& feed) {
  auto sum = torch::zeros({feed.bins()}, torch::dtype(torch::kFloat32).device(torch::kCUDA, feed.device()));
  int64_t seen = 0;
  while (!feed.exhausted()) {
    torch::Tensor counts = nextBatch(feed).to(torch::kFloat32);
    torch::Tensor current = counts.sum(1, /*keepdim=*/true).clamp_min_(1.0);
    sum.add_((counts / current).sum(0));
    seen += feed.batch();
  }
  return seen > 0 ? sum / static_cast<double>(seen) : sum;
}

}  // namespace spectra

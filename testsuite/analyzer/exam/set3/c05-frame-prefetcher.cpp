// Moves pinned frames to the device on a copy stream, one frame ahead of the model.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <utility>
#include <vector>

namespace loader {

class FramePrefetcher {
 public:
  FramePrefetcher(std::vector<at::Tensor> frames, at::Device device)
      : frames_(std::move(frames)),
        device_(device),
        copyStream_(c10::cuda::getStreamFromPool(false, device.index())) {
    preload();
  }

  /// Next frame, usable on the current stream; nullopt at the end.
  std::optional<at::Tensor> next() {
    if (!staged_.defined()) {
      return std::nullopt;
    }
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    staged_event_.block(current);
    at::Tensor frame = std::move(staged_);
    staged_ = at::Tensor();
    frame.record_stream(current.unwrap());
    preload();
    return frame;
  }

 private:
  void preload() {
    if (cursor_ == frames_.size()) {
      return;
    }
    c10::cuda::CUDAStreamGuard guard(copyStream_);
    at::Tensor raw = frames_[cursor_++].to(device_, /*non_blocking=*/true);
    staged_ = raw.to(at::kFloat).sub_(127.5).div_(127.5);
    staged_event_.record(copyStream_);
  }

  std::vector<at::Tensor> frames_;
  at::Device device_;
  c10::cuda::CUDAStream copyStream_;
  size_t cursor_ = 0;
  at::Tensor staged_;
  at::cuda::CUDAEvent staged_event_;
};

class RunningMean {
 public:
  void update(const at::Tensor& frame) {
    at::Tensor m = frame.mean({1, 2});
    if (mean_.defined()) {
      mean_.mul_(0.9).add_(m, 0.1);
    } else {
      mean_ = m;
    }
  }
  at::Tensor value() const { return mean_; }

 private:
  at::Tensor mean_;
};

} // namespace loader

int main() {
  const at::Device device(at::kCUDA, 0);
  const c10::cuda::CUDAGuard deviceGuard(device);
  std::vector<at::Tensor> frames;
  for (int i = 0; i < 16; ++i) {
    frames.push_back(at::full({3, 720, 1280}, i, at::kByte).pin_memory());
  }
  c10::cuda::CUDAStreamGuard compute(c10::cuda::getStreamFromPool(true, 0));
  loader::FramePrefetcher prefetcher(std::move(frames), device);
  loader::RunningMean mean;
  while (auto frame = prefetcher.next()) {
    mean.update(*frame);
  }
  return mean.value().isfinite().all().item<bool>() ? 0 : 1;
}

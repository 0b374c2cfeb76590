// Batch feeder of the tomography trainer: a worker thread prepares batches on the host and uploads them in a side
// stream; the training thread takes them over on whatever stream is current there.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tomo {

using at::Tensor;

struct HostBatch {
  Tensor projections;  // uint8, [batch, angles, detectors]
  Tensor angles;       // float, [angles]
};

struct DeviceBatch {
  Tensor projections;  // half, normalised
  Tensor angles;
};

using Source = std::function<std::optional<HostBatch>(int64_t)>;

class Feeder {
 public:
  Feeder(Source source, c10::Device device, size_t depth)
      : source_(std::move(source)),
        device_(device),
        depth_(depth),
        upload_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())),
        worker_([this] { work(); }) {}

  ~Feeder() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // The next batch for use on the current stream, or nothing at the end.
  std::optional<DeviceBatch> next() {
    std::unique_ptr<Ready> item;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
      if (ready_.empty()) return std::nullopt;
      item = std::move(ready_.front());
      ready_.pop_front();
    }
    changed_.notify_all();
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    item->uploaded.block(current);
    item->batch.projections.record_stream(current);
    item->batch.angles.record_stream(current);
    return std::move(item->batch);
  }

 private:
  struct Ready {
    DeviceBatch batch;
    at::cuda::CUDAEvent uploaded;
  };

  void work() {
    c10::cuda::CUDAGuard device_guard(device_);
    c10::cuda::CUDAStreamGuard stream_guard(upload_);
    for (int64_t index = 0;; ++index) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || ready_.size() < depth_; });
        if (stop_) break;
      }
      std::optional<HostBatch> host = source_(index);
      if (!host) break;
      auto item = std::make_unique<Ready>();
      item->batch = upload(*host);
      item->uploaded.record(upload_);
      {
        std::lock_guard<std::mutex> lock(mutex_);
        ready_.push_back(std::move(item));
      }
      changed_.notify_all();
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      finished_ = true;
    }
    changed_.notify_all();
  }

  // Runs in the upload stream. The page-locked copies and the raw tensor die here.
  DeviceBatch upload(const HostBatch& host) {
    Tensor raw = host.projections.pin_memory().to(device_, /*non_blocking=*/true);
    Tensor angles = host.angles.pin_memory().to(device_, /*non_blocking=*/true);
    Tensor scaled = raw.to(at::kFloat).mul_(1.0 / 255.0);
    Tensor mean = scaled.mean({1, 2}, /*keepdim=*/true);
    Tensor dev = scaled.std({1, 2}, /*unbiased=*/false, /*keepdim=*/true).clamp_min_(1e-6);
    return {scaled.sub_(mean).div_(dev).to(at::kHalf), angles};
  }

  Source source_;
  c10::Device device_;
  size_t depth_;
  c10::cuda::CUDAStream upload_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Ready>> ready_;
  bool stop_ = false;
  bool finished_ = false;
  std::thread worker_;
};

// Filtered back projection of one batch on the current stream.
Tensor back_project(const DeviceBatch& batch, const Tensor& ramp) {
  Tensor spectrum = at::fft_rfft(batch.projections.to(at::kFloat), std::nullopt, -1);
  Tensor filtered = at::fft_irfft(spectrum.mul(ramp), batch.projections.size(2), -1);
  Tensor weight = batch.angles.cos().abs().view({1, -1, 1});
  return filtered.mul(weight).sum(1);
}

// Mean sinogram response over everything that the feeder delivers.
Tensor mean_response(Feeder& feeder, const Tensor& ramp) {
  Tensor sum;
  int64_t batches = 0;
  while (auto batch = feeder.next()) {
    Tensor r = back_project(*batch, ramp).mean(0);
    sum = sum.defined() ? sum.add_(r) : r;
    ++batches;
  }
  TORCH_CHECK(batches > 0, "no data");
  return sum.div_(batches);
}

}  // namespace tomo

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Bird-song survey: detections per recording come back asynchronously and are logged some
// recordings later.

namespace survey {

struct Pending {
  std::string station;
  at::Tensor device;
  at::Tensor host;
  at::cuda::CUDAEvent landed;
};

class Collector {
 public:
  Collector(c10::Device d, size_t depth)
      : device_(d), depth_(depth), copy_(c10::cuda::getStreamFromPool(false, d.index())) {}

  void submit(std::string station, at::Tensor counts) {
    TORCH_CHECK(counts.is_cuda() && counts.scalar_type() == at::kLong && counts.is_contiguous());
    at::Tensor host = at::empty(counts.sizes(), counts.options().device(at::kCPU).pinned_memory(true));
    ready_.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    ready_.block(copy_);
    C10_CUDA_CHECK(cudaMemcpyAsync(host.mutable_data_ptr(), counts.const_data_ptr(), counts.nbytes(),
                                   cudaMemcpyDeviceToHost, copy_));
    Pending p;
    p.station = std::move(station);
    p.device = std::move(counts);
    p.host = std::move(host);
    p.landed.record(copy_);
    queue_.push_back(std::move(p));
    if (queue_.size() > depth_) log_oldest();
  }

  std::map<std::string, int64_t> finish() {
    while (!queue_.empty()) log_oldest();
    return std::exchange(totals_, {});
  }

 private:
  void log_oldest() {
    Pending p = std::move(queue_.front());
    queue_.pop_front();
    p.landed.synchronize();
    const int64_t* v = p.host.const_data_ptr<int64_t>();
    int64_t sum = 0;
    for (int64_t i = 0; i < p.host.numel(); ++i) sum += v[i];
    totals_[p.station] += sum;
  }

  c10::Device device_;
  size_t depth_;
  c10::cuda::CUDAStream copy_;
  at::cuda::CUDAEvent ready_;
  std::deque<Pending> queue_;
  std::map<std::string, int64_t> totals_;
};

class Detector {
 public:
  Detector(at::Tensor songs, double threshold) : songs_(std::move(songs)), threshold_(threshold) {}

  at::Tensor count(const at::Tensor& spectrogram) const {
    at::Tensor score = at::mm(spectrogram, songs_.t());
    return score.gt(threshold_).sum(0, /*keepdim=*/false, at::kLong).contiguous();
  }

 private:
  at::Tensor songs_;
  double threshold_;
};

std::map<std::string, int64_t> run(const std::vector<std::pair<std::string, at::Tensor>>& recordings,
                                   const at::Tensor& songs, double threshold) {
  c10::cuda::CUDAGuard guard(songs.device());
  Detector detector(songs, threshold);
  Collector collector(songs.device(), 4);
  for (const auto& [station, spectrogram] : recordings) {
    collector.submit(station, detector.count(spectrogram));
  }
  return collector.finish();
}

}  // namespace survey

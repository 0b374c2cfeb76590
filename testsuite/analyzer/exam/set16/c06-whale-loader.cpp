// Loader for hydrophone clips: uploads run one batch ahead of the detector, on a second stream.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace bioacoustics {

struct Clip {
  at::Tensor samples;  // [channels, length], device
  int64_t id = 0;
};

class ClipLoader {
 public:
  using Source = std::function<std::optional<at::Tensor>()>;  // the next int16 clip, a new host tensor each time

  ClipLoader(Source source, c10::Device device, int depth)
      : source_(std::move(source)),
        device_(device),
        upload_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {
    for (int i = 0; i < depth; ++i) enqueue();
  }

  std::optional<Clip> next() {
    if (ready_.empty()) return std::nullopt;
    Entry entry = std::move(ready_.front());
    ready_.pop_front();
    const auto consumer = c10::cuda::getCurrentCUDAStream(device_.index());
    entry.uploaded.block(consumer);
    // The clip comes from the upload stream's pool and will be read on the consumer's stream.
    entry.clip.samples.record_stream(consumer);
    enqueue();
    return std::move(entry.clip);
  }

 private:
  struct Entry {
    Clip clip;
    at::cuda::CUDAEvent uploaded;
  };

  void enqueue() {
    std::optional<at::Tensor> host = source_();
    if (!host) return;
    Entry entry;
    {
      c10::cuda::CUDAStreamGuard onUpload(upload_);
      const at::Tensor pinned = host->pin_memory();
      entry.clip.samples = pinned.to(device_, /*non_blocking=*/true).to(at::kFloat).mul_(1.0 / 32768.0);
    }
    entry.clip.id = count_++;
    entry.uploaded.record(upload_);
    ready_.push_back(std::move(entry));
  }

  Source source_;
  c10::Device device_;
  c10::cuda::CUDAStream upload_;
  std::deque<Entry> ready_;
  int64_t count_ = 0;
};

// Root-mean-square level of each clip, evaluated while later clips are under way.
at::Tensor levels(ClipLoader& loader) {
  at::NoGradGuard noGrad;
  std::vector<at::Tensor> rms;
  while (std::optional<Clip> clip = loader.next()) rms.push_back(clip->samples.square().mean().sqrt());
  return rms.empty() ? at::Tensor() : at::stack(rms);
}

}  // namespace bioacoustics

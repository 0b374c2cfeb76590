// Epoch loader for CT slices: while one batch is in use, the next one is uploaded and normalised on a
// stream of its own.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ct {

class SliceLoader {
 public:
  // `batches`: uint8 tensors in page-locked memory.
  SliceLoader(std::vector<at::Tensor> batches, c10::Device device)
      : batches_(std::move(batches)),
        device_(device),
        upload_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())) {
    for (const at::Tensor& b : batches_) TORCH_CHECK(b.is_pinned() && b.scalar_type() == at::kByte);
    prefetch();
  }

  // The next batch, ready for use on the current stream, or nothing at the end of the epoch.
  std::optional<at::Tensor> next() {
    if (!staged_.defined()) return std::nullopt;
    uploaded_.block(c10::cuda::getCurrentCUDAStream(device_.index()));
    at::Tensor batch = std::exchange(staged_, at::Tensor());
    prefetch();
    return batch;
  }

  // Starts the next epoch when the last one has been read to its end.
  void rewind() {
    if (staged_.defined()) return;
    position_ = 0;
    prefetch();
  }

 private:
  void prefetch() {
    if (position_ == batches_.size()) return;
    c10::cuda::CUDAStreamGuard onUpload(upload_);
    at::Tensor raw = batches_[position_++].to(device_, /*non_blocking=*/true);
    staged_ = raw.to(at::kFloat).div_(127.5).sub_(1.0);
    uploaded_.record(upload_);
  }

  std::vector<at::Tensor> batches_;
  c10::Device device_;
  c10::cuda::CUDAStream upload_;
  at::cuda::CUDAEvent uploaded_;
  at::Tensor staged_;
  size_t position_ = 0;
};

// Mean squared response of a linear probe over the epoch.
double probeEpoch(SliceLoader& loader, const at::Tensor& probe) {
  at::NoGradGuard noGrad;
  at::Tensor sum = at::zeros({}, probe.options());
  int64_t batches = 0;
  loader.rewind();
  while (std::optional<at::Tensor> batch = loader.next()) {
    sum.add_(at::matmul(batch->flatten(1), probe).square().mean());
    ++batches;
  }
  return batches ? sum.item<double>() / static_cast<double>(batches) : 0.0;
}

// Mean intensity per batch.
std::vector<double> intensities(SliceLoader& loader) {
  at::NoGradGuard noGrad;
  std::vector<at::Tensor> means;
  loader.rewind();
  while (auto batch = loader.next()) means.push_back(batch->mean());
  std::vector<double> out;
  for (const at::Tensor& m : means) out.push_back(m.item<double>());
  return out;
}

}  // namespace ct

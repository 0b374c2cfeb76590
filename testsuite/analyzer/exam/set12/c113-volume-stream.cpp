// Streams large CT volumes through a segmentation model, slab by slab.  Slabs are uploaded one step ahead on
// a side stream.
#include <torch/torch.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace segmentation {

struct Slab {
  torch::Tensor voxels;
  int64_t z = 0;
};

class SlabReader {
 public:
  SlabReader(torch::Tensor volume, int64_t depth) : volume_(std::move(volume)), depth_(depth) {}

  std::optional<Slab> next() {
    if (z_ + depth_ > volume_.size(0)) return std::nullopt;
    Slab slab{volume_.narrow(0, z_, depth_).contiguous().pin_memory(), z_};
    z_ += depth_;
    return slab;
  }

 private:
  torch::Tensor volume_;
  int64_t depth_;
  int64_t z_ = 0;
};

class SlabUploader {
 public:
  SlabUploader(SlabReader reader, c10::Device device)
      : reader_(std::move(reader)), device_(device), side_(c10::cuda::getStreamFromPool(false, device.index())) {
    upload();
  }

  // The returned slab may be used on the current stream until the next call of take().
  std::optional<Slab> take() {
    auto current = c10::cuda::getCurrentCUDAStream(device_.index());
    retire(current);
    if (!ahead_) return std::nullopt;
    uploaded_.block(current);
    in_use_ = std::move(ahead_);
    ahead_.reset();
    upload();
    return in_use_;
  }

 private:
  void upload() {
    auto host = reader_.next();
    if (!host) return;
    c10::cuda::CUDAStreamGuard guard(side_);
    torch::Tensor raw = host->voxels.to(device_, host->voxels.scalar_type(), /*non_blocking=*/true);
    torch::Tensor scaled = raw.to(torch::kFloat32).add_(1024.f).div_(4096.f).clamp_(0.f, 1.f);
    uploaded_.record(side_);
    ahead_ = Slab{scaled, host->z};
  }

  // Gives the slab that the model has worked on back to the side stream's pool.
  void retire(const c10::cuda::CUDAStream& current) {
    if (!in_use_) return;
    consumed_.record(current);
    consumed_.block(side_);
    in_use_.reset();
  }

  SlabReader reader_;
  c10::Device device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent uploaded_;
  at::cuda::CUDAEvent consumed_;
  std::optional<Slab> ahead_;
  std::optional<Slab> in_use_;
};

using Model = std::function<torch::Tensor(const torch::Tensor&)>;

torch::Tensor segment(const torch::Tensor& volume, const Model& model, int64_t device_index) {
  torch::NoGradGuard no_grad;
  c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_index));
  c10::cuda::CUDAGuard on_device(device);

  SlabUploader uploader(SlabReader(volume, 32), device);
  std::vector<torch::Tensor> labels;
  for (;;) {
    auto slab = uploader.take();
    if (!slab) break;
    labels.push_back(model(slab->voxels).to(torch::kUInt8));
  }
  return torch::cat(labels).cpu();
}

torch::Tensor threshold_bone(const torch::Tensor& volume, int64_t device_index) {
  return segment(volume, [](const torch::Tensor& v) { return v.gt(0.33f); }, device_index);
}

}  // namespace segmentation

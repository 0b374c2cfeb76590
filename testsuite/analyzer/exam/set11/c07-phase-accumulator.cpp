// Gated cardiac MRI: the frames of one heart phase are weighted on the compute
// stream and averaged on a stream of their own.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace cardiac {

class PhaseAverage {
 public:
  PhaseAverage(at::IntArrayRef shape, c10::DeviceIndex device)
      : device_(device), side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {
    const c10::cuda::CUDAStreamGuard guard(side_);
    mean_ = at::zeros(shape, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device_));
  }
  ~PhaseAverage() { side_.synchronize(); }
  PhaseAverage(const PhaseAverage&) = delete;
  PhaseAverage& operator=(const PhaseAverage&) = delete;

  void submit(const at::Tensor& frame, double weight) {
    at::Tensor weighted = frame.mul(weight);
    follow_current();
    c10::cuda::CUDACachingAllocator::recordStream(weighted.storage().data_ptr(), side_);
    accumulate(weighted);
  }

  /// Like submit(), for frames that the caller keeps.
  void submit_owned(at::Tensor frame) {
    follow_current();
    accumulate(frame);
    kept_.push_back(std::move(frame));
  }

  at::Tensor result() {
    at::cuda::CUDAEvent done;
    done.record(side_);
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    done.block(current);
    kept_.clear();
    at::Tensor out = mean_.clone();
    release_to_side(current);
    return out;
  }

 private:
  void follow_current() {
    at::cuda::CUDAEvent ready;
    ready.record(c10::cuda::getCurrentCUDAStream(device_));
    ready.block(side_);
  }

  void accumulate(const at::Tensor& weighted) {
    const c10::cuda::CUDAStreamGuard guard(side_);
    mean_.add_(weighted);
  }

  void release_to_side(const c10::cuda::CUDAStream& current) {
    at::cuda::CUDAEvent read;
    read.record(current);
    read.block(side_);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::Tensor mean_;
  std::deque<at::Tensor> kept_;
};

/// frames: phases x height x width on the device.
at::Tensor average(const at::Tensor& frames, const std::vector<double>& weights) {
  TORCH_CHECK(frames.is_cuda() && frames.dim() == 3, "frames must be phases x height x width on a CUDA device");
  const c10::cuda::CUDAGuard device_guard(frames.device());
  PhaseAverage phase({frames.size(1), frames.size(2)}, frames.device().index());
  for (int64_t i = 0; i < frames.size(0); ++i) {
    const double w = weights.at(static_cast<std::size_t>(i));
    if (w == 1.0) {
      phase.submit_owned(frames.select(0, i).contiguous());
    } else {
      phase.submit(frames.select(0, i), w);
    }
  }
  return phase.result();
}

}  // namespace cardiac

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("average", &cardiac::average); }

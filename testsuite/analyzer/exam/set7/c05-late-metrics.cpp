// Training metrics that never stall the loop: values arrive in pinned memory and are read some steps later.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace metrics {

struct Sample {
  int64_t step;
  std::vector<float> values;
};

class LateReader {
 public:
  LateReader(int64_t width, c10::DeviceIndex device)
      : width_(width), device_(device), side_(c10::cuda::getStreamFromPool(false, device)) {
    for (Slot& s : slots_)
      s.host = at::empty({width}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
  }
  ~LateReader() { side_.synchronize(); }

  LateReader(const LateReader&) = delete;
  LateReader& operator=(const LateReader&) = delete;

  // Starts the transfer of `values`, made by the current stream. Returns the sample that has to
  // leave to make room, if there is one.
  std::optional<Sample> push(int64_t step, const at::Tensor& values) {
    const c10::cuda::CUDAGuard guard(device_);
    Slot& slot = slots_[static_cast<size_t>(next_)];
    std::optional<Sample> old = collect(slot);

    const at::Tensor flat = values.detach().reshape({-1}).to(at::kFloat);
    TORCH_CHECK(flat.numel() == width_, "unexpected number of metrics");
    produced_.record(c10::cuda::getCurrentCUDAStream());
    produced_.block(side_);
    {
      const c10::cuda::CUDAStreamGuard side(side_);
      slot.host.copy_(flat, /*non_blocking=*/true);
    }
    flat.record_stream(side_.unwrap());
    slot.arrived.record(side_);
    slot.step = step;
    slot.busy = true;
    next_ = (next_ + 1) % kSlots;
    return old;
  }

  // Everything still on its way, oldest first.
  std::vector<Sample> flush() {
    std::vector<Sample> out;
    for (int64_t k = 0; k < kSlots; ++k) {
      if (std::optional<Sample> s = collect(slots_[static_cast<size_t>((next_ + k) % kSlots)]))
        out.push_back(std::move(*s));
    }
    return out;
  }

 private:
  static constexpr int64_t kSlots = 4;

  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent arrived;
    int64_t step = -1;
    bool busy = false;
  };

  static std::optional<Sample> collect(Slot& slot) {
    if (!slot.busy) return std::nullopt;
    slot.arrived.synchronize();
    const float* p = slot.host.const_data_ptr<float>();
    slot.busy = false;
    return Sample{slot.step, std::vector<float>(p, p + slot.host.numel())};
  }

  int64_t width_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent produced_;
  std::array<Slot, kSlots> slots_;
  int64_t next_ = 0;
};

// Exponential average over the samples, in step order.
class RunningMean {
 public:
  explicit RunningMean(float decay) : decay_(decay) {}

  void take(const Sample& s) {
    if (mean_.empty()) mean_ = s.values;
    for (size_t i = 0; i < mean_.size(); ++i)
      mean_[i] = decay_ * mean_[i] + (1.f - decay_) * s.values[i];
    lastStep_ = s.step;
  }

  const std::vector<float>& mean() const { return mean_; }
  int64_t lastStep() const { return lastStep_; }

 private:
  float decay_;
  std::vector<float> mean_;
  int64_t lastStep_ = -1;
};

void logStep(LateReader& reader, RunningMean& mean, int64_t step, const at::Tensor& loss,
             const at::Tensor& gradNorm) {
  const at::Tensor both = at::stack({loss.mean(), gradNorm.mean()});
  if (std::optional<Sample> s = reader.push(step, both)) mean.take(*s);
}

void finishLog(LateReader& reader, RunningMean& mean) {
  for (const Sample& s : reader.flush()) mean.take(s);
}

}  // namespace metrics

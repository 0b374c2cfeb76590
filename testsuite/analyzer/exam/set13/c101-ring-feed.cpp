// Feeds radar range lines to a detector through a ring of preallocated tensors.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <array>
#include <utility>
#include <vector>

namespace radar {

class LineRing {
 public:
  static constexpr int kDepth = 3;

  struct Slot {
    at::Tensor host;    // pinned
    at::Tensor device;
    at::cuda::CUDAEvent filled;
    at::cuda::CUDAEvent consumed;
  };

  LineRing(int64_t lines, int64_t bins, c10::DeviceIndex device)
      : device_(device), side_(c10::cuda::getStreamFromPool(false, device)),
        owner_(c10::cuda::getCurrentCUDAStream(device)) {
    auto opts = at::TensorOptions().dtype(at::kFloat);
    for (Slot& s : slots_) {
      s.host = at::empty({lines, bins}, opts.device(at::kCPU).pinned_memory(true));
      s.device = at::empty({lines, bins}, opts.device(at::Device(at::kCUDA, device_)));
      // The blocks may have been in use on the current stream a moment ago.
      s.consumed.record(owner_);
    }
  }

  ~LineRing() {
    side_.synchronize();
    // The blocks go back to the stream they came from.
    for (Slot& s : slots_) s.consumed.block(owner_);
  }

  template <class Fill>
  void push(Fill&& fill) {
    Slot& s = slots_[head_++ % kDepth];
    s.filled.synchronize();  // the host half is free once its last upload is through
    fill(s.host.mutable_data_ptr<float>(), s.host.numel());
    s.consumed.block(side_);
    c10::cuda::CUDAStreamGuard guard(side_);
    s.device.copy_(s.host, /*non_blocking=*/true);
    s.device.sub_(0.5).mul_(2.0);
    s.filled.record(side_);
  }

  template <class Use>
  void pop(Use&& use) {
    Slot& s = slots_[tail_++ % kDepth];
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    s.filled.block(current);
    use(s.device);
    s.consumed.record(current);
  }

  size_t fill_level() const { return head_ - tail_; }

 private:
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream side_, owner_;
  std::array<Slot, kDepth> slots_;
  size_t head_ = 0, tail_ = 0;
};

class CfarDetector {
 public:
  explicit CfarDetector(double factor) : factor_(factor) {}
  at::Tensor count(const at::Tensor& lines) const {
    at::Tensor power = lines.square();
    at::Tensor noise = at::avg_pool1d(power, {33}, {1}, {16});
    return power.gt(noise.mul_(factor_)).sum();
  }

 private:
  double factor_;
};

int64_t run(int64_t lines, int64_t bins, int sweeps, double factor) {
  c10::cuda::CUDAGuard guard(0);
  auto main = c10::cuda::getDefaultCUDAStream(0);
  c10::cuda::CUDAStreamGuard on_main(main);
  LineRing ring(lines, bins, 0);
  CfarDetector detector(factor);
  at::Tensor total = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(at::kCUDA, 0));
  int produced = 0;
  while (produced < sweeps || ring.fill_level()) {
    while (produced < sweeps && ring.fill_level() < LineRing::kDepth) {
      ring.push([&](float* p, int64_t n) {
        for (int64_t i = 0; i < n; ++i) p[i] = static_cast<float>((i * 31 + produced) % 1000) * 1e-3f;
      });
      ++produced;
    }
    ring.pop([&](const at::Tensor& t) { total.add_(detector.count(t)); });
  }
  return total.item<int64_t>();
}

}  // namespace radar

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &radar::run); }

// Prefetches padded user sessions for a sequential recommender. The device buffers are allocated once and
// refilled on a copy stream.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace sessions {

// Writes the next sessions into a page-locked tensor [rows, length]; false at the end.
using Fill = std::function<bool(torch::Tensor& host)>;

class SessionPrefetcher {
 public:
  SessionPrefetcher(Fill fill, int64_t rows, int64_t length, c10::DeviceIndex device)
      : fill_(std::move(fill)), device_(device), copy_(at::cuda::getStreamFromPool(false, device)) {
    for (Slot& s : slots_) {
      s.host = torch::empty({rows, length}, torch::dtype(torch::kInt64).pinned_memory(true));
      s.device = torch::empty({rows, length}, torch::dtype(torch::kInt64).device(torch::kCUDA, device));
      // The buffers belong to the current stream and are written on the copy stream.
      s.consumed.record(at::cuda::getCurrentCUDAStream(device_));
      request(s);
    }
  }
  SessionPrefetcher(const SessionPrefetcher&) = delete;
  SessionPrefetcher& operator=(const SessionPrefetcher&) = delete;
  ~SessionPrefetcher() {
    copy_.synchronize();
    for (Slot& s : slots_) s.consumed.synchronize();
  }

  // Calls use(tensor) for one batch of sessions; false at the end. The tensor must not be kept.
  template <typename Use>
  bool consume(Use&& use) {
    Slot& s = slots_[turn_];
    if (!s.valid) return false;
    turn_ = (turn_ + 1) % slots_.size();
    const auto current = at::cuda::getCurrentCUDAStream(device_);
    s.arrived.block(current);
    use(s.device);
    s.consumed.record(current);
    request(s);
    return true;
  }

 private:
  struct Slot {
    torch::Tensor host;
    torch::Tensor device;
    at::cuda::CUDAEvent arrived;
    at::cuda::CUDAEvent consumed;
    bool valid = false;
  };

  void request(Slot& s) {
    // The last upload out of the page-locked tensor must be over before it is filled again.
    if (s.arrived.isCreated()) s.arrived.synchronize();
    s.valid = fill_(s.host);
    if (!s.valid) return;
    s.consumed.block(copy_);
    const c10::cuda::CUDAStreamGuard guard(copy_);
    s.device.copy_(s.host, /*non_blocking=*/true);
    s.arrived.record(copy_);
  }

  Fill fill_;
  c10::DeviceIndex device_;
  at::cuda::CUDAStream copy_;
  std::array<Slot, 2> slots_;
  std::size_t turn_ = 0;
};

// How often each item occurs in the whole log.
torch::Tensor popularity(Fill fill, int64_t rows, int64_t length, int64_t items, c10::DeviceIndex device) {
  const c10::cuda::CUDAGuard guard(device);
  torch::NoGradGuard noGrad;
  torch::Tensor counts = torch::zeros({items}, torch::dtype(torch::kInt64).device(torch::kCUDA, device));
  SessionPrefetcher loader(std::move(fill), rows, length, device);
  while (loader.consume([&](const torch::Tensor& batch) {
    torch::Tensor flat = batch.reshape({-1});
    counts.add_(torch::bincount(flat, {}, items).slice(0, 0, items));
  })) {
  }
  at::cuda::getCurrentCUDAStream(device).synchronize();
  return counts;
}

}  // namespace sessions

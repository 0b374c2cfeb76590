// Checkpoints of a running simulation: fields are mirrored to page-locked memory on a side stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace checkpoint {

// Tensors whose last use is on another stream are held here until that use is over.
class KeepAlive {
 public:
  void hold(at::Tensor tensor, const c10::cuda::CUDAStream& user) {
    auto done = std::make_unique<at::cuda::CUDAEvent>();
    done->record(user);
    held_.emplace_back(std::move(tensor), std::move(done));
    collect();
  }

  void collect() {
    while (!held_.empty() && held_.front().second->query()) held_.pop_front();
  }

  ~KeepAlive() {
    for (auto& entry : held_) entry.second->synchronize();
  }

 private:
  std::deque<std::pair<at::Tensor, std::unique_ptr<at::cuda::CUDAEvent>>> held_;
};

class Mirror {
 public:
  explicit Mirror(c10::DeviceIndex device) : device_(device), stream_(c10::cuda::getStreamFromPool(false, device)) {}

  // Queues a copy of the field as it is now; the caller may change the field right away.
  void save(const std::string& name, const at::Tensor& field) {
    c10::NoGradGuard no_grad;
    at::Tensor frozen = field.detach().to(at::kHalf, /*non_blocking=*/false, /*copy=*/true);
    auto& slot = slots_[name];
    if (!slot.host.defined() || slot.host.sizes() != frozen.sizes())
      slot.host = at::empty(frozen.sizes(), frozen.options().device(at::kCPU).pinned_memory(true));
    transfer(frozen, slot);
    keep_alive_.hold(std::move(frozen), stream_);
  }

  // The last saved state of a field.
  at::Tensor load(const std::string& name) {
    auto it = slots_.find(name);
    TORCH_CHECK(it != slots_.end(), "no checkpoint of ", name);
    it->second.arrived.synchronize();
    return it->second.host.clone();
  }

 private:
  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent arrived;
  };

  void transfer(const at::Tensor& frozen, Slot& slot) {
    frozen_.record(c10::cuda::getCurrentCUDAStream(device_));
    frozen_.block(stream_);
    c10::cuda::CUDAStreamGuard guard(stream_);
    slot.host.copy_(frozen, /*non_blocking=*/true);
    slot.arrived.record(stream_);
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent frozen_;
  std::map<std::string, Slot> slots_;
  KeepAlive keep_alive_;
};

// Gray-Scott reaction; u and v are stepped in place.
void react(at::Tensor& u, at::Tensor& v, double feed, double kill, int steps) {
  c10::NoGradGuard no_grad;
  for (int i = 0; i < steps; ++i) {
    at::Tensor uvv = u * v * v;
    at::Tensor lap_u = at::roll(u, {1}, {0}) + at::roll(u, {-1}, {0}) - 2 * u;
    at::Tensor lap_v = at::roll(v, {1}, {0}) + at::roll(v, {-1}, {0}) - 2 * v;
    u.add_(0.16 * lap_u - uvv + feed * (1 - u));
    v.add_(0.08 * lap_v + uvv - (feed + kill) * v);
  }
}

std::vector<at::Tensor> simulate(at::Tensor u, at::Tensor v, int epochs) {
  TORCH_CHECK(u.is_cuda() && v.is_cuda(), "CUDA fields expected");
  const c10::cuda::CUDAGuard device(u.device());
  Mirror mirror(u.device().index());
  std::vector<at::Tensor> history;
  for (int e = 0; e < epochs; ++e) {
    react(u, v, 0.035, 0.06, 100);
    mirror.save("u", u);
    mirror.save("v", v);
    if (e % 10 == 9) history.push_back(mirror.load("u"));
  }
  if (epochs > 0) history.push_back(mirror.load("v"));
  return history;
}

}  // namespace checkpoint

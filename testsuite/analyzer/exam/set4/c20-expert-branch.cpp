#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <utility>
#include <vector>

namespace moe {

struct Expert {
  at::Tensor up;    // (d, h)
  at::Tensor down;  // (h, d)
};

// Spreads independent experts over two streams of the pool.
class BranchRunner {
 public:
  explicit BranchRunner(c10::DeviceIndex device)
      : streams_{c10::cuda::getStreamFromPool(true, device), c10::cuda::getStreamFromPool(true, device)} {}

  template <class F>
  void run(size_t count, F&& body) {
    const auto current = c10::cuda::getCurrentCUDAStream(streams_[0].device_index());
    fork_.record(current);
    for (auto& s : streams_) fork_.block(s);
    for (size_t i = 0; i < count; ++i) {
      c10::cuda::CUDAStreamGuard guard(streams_[i % streams_.size()]);
      body(i);
    }
    for (size_t k = 0; k < streams_.size(); ++k) {
      join_[k].record(streams_[k]);
      join_[k].block(current);
    }
  }

 private:
  std::array<c10::cuda::CUDAStream, 2> streams_;
  at::cuda::CUDAEvent fork_;
  std::array<at::cuda::CUDAEvent, 2> join_;
};

class ExpertLayer {
 public:
  ExpertLayer(std::vector<Expert> experts, c10::DeviceIndex device) : experts_(std::move(experts)), runner_(device) {}

  at::Tensor forward(const at::Tensor& x, const at::Tensor& gates) {
    // one slab for all experts, allocated on the current stream
    at::Tensor slab = at::empty({static_cast<int64_t>(experts_.size()), x.size(0), x.size(1)}, x.options());
    runner_.run(experts_.size(), [&](size_t i) {
      const Expert& e = experts_[i];
      at::Tensor hidden = at::silu(at::matmul(x, e.up));
      at::Tensor out = slab.select(0, static_cast<int64_t>(i));
      at::matmul_out(out, hidden, e.down);
    });
    // gates: (tokens, experts)
    at::Tensor mixed = at::einsum("etd,te->td", {slab, gates});
    return mixed.add_(x);
  }

 private:
  std::vector<Expert> experts_;
  BranchRunner runner_;
};

at::Tensor run_layers(std::vector<ExpertLayer>& layers, at::Tensor x, const std::vector<at::Tensor>& gates) {
  c10::cuda::CUDAGuard guard(x.device());
  for (size_t l = 0; l < layers.size(); ++l) x = layers[l].forward(x, gates[l]);
  return x;
}

}  // namespace moe

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

// Export of yield maps: the map of a field is quantised, copied to pinned memory on a copy
// stream and given to a writer. Two exports may be under way.
namespace yieldmap {

using Writer = std::function<void(const uint8_t* data, int64_t bytes)>;

namespace {

__global__ void quantise_kernel(const float* yield, uint8_t* out, float scale, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = static_cast<uint8_t>(fminf(fmaxf(yield[i] * scale, 0.f), 255.f));
}

at::Tensor quantise(const at::Tensor& yield, float scale) {
  at::Tensor out = at::empty(yield.sizes(), yield.options().dtype(at::kByte));
  const int64_t n = yield.numel();
  quantise_kernel<<<static_cast<unsigned>((n + 255) / 256), 256, 0,
                    at::cuda::getCurrentCUDAStream(yield.get_device())>>>(
      yield.data_ptr<float>(), out.data_ptr<uint8_t>(), scale, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace

class Exporter {
 public:
  Exporter(c10::DeviceIndex device, Writer writer)
      : device_(device),
        copy_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        writer_(std::move(writer)) {}

  // The map must be ready on the current stream.
  void submit(const at::Tensor& yield, float scale) {
    TORCH_CHECK(yield.is_cuda() && yield.scalar_type() == at::kFloat && yield.is_contiguous());
    Slot& slot = slots_[next_];
    next_ ^= 1;
    complete(slot);

    at::Tensor bytes = quantise(yield, scale);
    const auto current = at::cuda::getCurrentCUDAStream(device_);
    at::cuda::CUDAEvent quantised;
    quantised.record(current);

    c10::cuda::CUDAStreamGuard guard(copy_);
    quantised.block(copy_);
    if (!slot.host.defined() || slot.host.numel() < bytes.numel())
      slot.host = at::empty({bytes.numel()}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    slot.host.narrow(0, 0, bytes.numel()).copy_(bytes.view(-1), /*non_blocking=*/true);
    bytes.record_stream(copy_.unwrap());
    slot.copied.record(copy_);
    slot.bytes = bytes.numel();
  }

  void flush() {
    complete(slots_[next_]);
    complete(slots_[next_ ^ 1]);
  }

  ~Exporter() {
    for (Slot& s : slots_)
      if (s.bytes) s.copied.synchronize();
  }

 private:
  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent copied;
    std::optional<int64_t> bytes;
  };

  void complete(Slot& slot) {
    if (!slot.bytes) return;
    slot.copied.synchronize();
    writer_(slot.host.data_ptr<uint8_t>(), *slot.bytes);
    slot.bytes.reset();
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream copy_;
  Writer writer_;
  std::array<Slot, 2> slots_;
  int next_ = 0;
};

}  // namespace yieldmap

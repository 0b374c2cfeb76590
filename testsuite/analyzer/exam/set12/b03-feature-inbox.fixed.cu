// Late fusion of feature maps that arrive from remote cameras.
//
// Every packet is uploaded and dequantised on a stream of the PyTorch pool so
// that slow cameras do not hold up fast ones; the fuser then blends whatever
// has arrived into the world model on the current stream.

#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace fusion {

__global__ void dequantise_kernel(const uint8_t* __restrict__ src, float* __restrict__ dst, int64_t n, float scale, float zero) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) dst[i] = (static_cast<float>(src[i]) - zero) * scale;
}

struct Packet {
  at::Tensor features;
  std::shared_ptr<at::cuda::CUDAEvent> decoded;
  float weight = 1.0f;
};

class Inbox {
 public:
  explicit Inbox(c10::DeviceIndex device) : device_(device) {}

  // payload: pinned uint8 tensor, given up by the caller; called from the network threads.
  void deliver(const at::Tensor& payload, float scale, float zero, float weight) {
    TORCH_CHECK(payload.is_pinned() && payload.scalar_type() == at::kByte, "payload must be pinned uint8");
    const c10::cuda::CUDAStream lane = c10::cuda::getStreamFromPool(false, device_);
    c10::cuda::CUDAStreamGuard guard(lane);

    Packet packet;
    packet.weight = weight;
    const auto on_gpu = at::TensorOptions().device(at::Device(at::kCUDA, device_));
    at::Tensor raw = payload.to(on_gpu.dtype(at::kByte), /*non_blocking=*/true);
    packet.features = at::empty(payload.sizes(), on_gpu.dtype(at::kFloat));

    const int64_t n = raw.numel();
    constexpr int kThreads = 256;
    dequantise_kernel<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, lane.stream()>>>(
        raw.data_ptr<uint8_t>(), packet.features.data_ptr<float>(), n, scale, zero);
    C10_CUDA_KERNEL_LAUNCH_CHECK();

    packet.decoded = std::make_shared<at::cuda::CUDAEvent>();
    packet.decoded->record(lane);

    std::lock_guard<std::mutex> lock(mutex_);
    packets_.push_back(std::move(packet));
  }

  bool take(Packet& out) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (packets_.empty()) return false;
    out = std::move(packets_.front());
    packets_.pop_front();
    return true;
  }

 private:
  c10::DeviceIndex device_;
  std::mutex mutex_;
  std::deque<Packet> packets_;
};

class Fuser {
 public:
  Fuser(std::shared_ptr<Inbox> inbox, at::Tensor world) : inbox_(std::move(inbox)), world_(std::move(world)) {}

  // Blends all pending packets into the world model; returns how many.
  int64_t drain() {
    const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream(world_.get_device());
    int64_t count = 0;
    Packet packet;
    while (inbox_->take(packet)) {
      packet.decoded->block(current);
      packet.features.record_stream(current);
      blend(packet);
      ++count;
    }
    return count;
  }

  const at::Tensor& world() const { return world_; }

 private:
  void blend(const Packet& packet) {
    world_.mul_(1.0f - decay_ * packet.weight);
    world_.add_(packet.features.view_as(world_), decay_ * packet.weight);
  }

  std::shared_ptr<Inbox> inbox_;
  at::Tensor world_;
  float decay_ = 0.1f;
};

}  // namespace fusion

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<fusion::Inbox, std::shared_ptr<fusion::Inbox>>(m, "Inbox")
      .def(py::init([](int device) { return std::make_shared<fusion::Inbox>(static_cast<c10::DeviceIndex>(device)); }))
      .def("deliver", &fusion::Inbox::deliver);
  py::class_<fusion::Fuser>(m, "Fuser")
      .def(py::init<std::shared_ptr<fusion::Inbox>, at::Tensor>())
      .def("drain", &fusion::Fuser::drain)
      .def("world", &fusion::Fuser::world);
}

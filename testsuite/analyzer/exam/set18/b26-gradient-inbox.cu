// Parameter server side of a data-parallel trainer: int8 gradient shards arrive
// from the network threads, are uploaded and expanded on pool streams, and are
// added to the accumulator by the optimizer thread.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace pserver {

__global__ void expandInt8(const int8_t* __restrict__ q, float scale, int64_t n,
                           float* __restrict__ out) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x)
    out[i] = scale * q[i];
}

struct Shard {
  at::Tensor grad;
  int64_t offset;
};

class Inbox {
 public:
  void push(Shard s) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      items_.push_back(std::move(s));
    }
    cv_.notify_one();
  }

  Shard pop() {
    std::unique_lock<std::mutex> lock(mu_);
    cv_.wait(lock, [this] { return !items_.empty(); });
    Shard s = std::move(items_.front());
    items_.pop_front();
    return s;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<Shard> items_;
};

// Called by network threads. `wire` is a pinned int8 tensor that the transport
// hands over for good.
class Receiver {
 public:
  Receiver(Inbox& inbox, c10::DeviceIndex device) : inbox_(inbox), device_(device) {}

  void onMessage(const at::Tensor& wire, double scale, int64_t offset) {
    TORCH_CHECK(wire.is_pinned() && wire.scalar_type() == at::kChar, "wire format");
    auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_);
    c10::cuda::CUDAStreamGuard guard(stream);

    auto packed = wire.to(at::Device(at::kCUDA, device_), at::kChar, /*non_blocking=*/true);
    Shard shard{at::empty(packed.sizes(), packed.options().dtype(at::kFloat)), offset};
    const int64_t n = packed.numel();
    const int blocks = int(std::min<int64_t>((n + 255) / 256, 1024));
    expandInt8<<<blocks, 256, 0, stream>>>(packed.const_data_ptr<int8_t>(), float(scale), n,
                                           shard.grad.mutable_data_ptr<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    inbox_.push(std::move(shard));
  }

 private:
  Inbox& inbox_;
  c10::DeviceIndex device_;
};

// Lives on the optimizer thread and works on that thread's current stream.
class Accumulator {
 public:
  Accumulator(Inbox& inbox, at::Tensor flat) : inbox_(inbox), flat_(std::move(flat)) {}

  void collect(int shards) {
    for (int i = 0; i < shards; ++i) apply(inbox_.pop());
  }

  void step(at::Tensor& weights, double lr) {
    c10::cuda::CUDAGuard device(flat_.device());
    weights.sub_(flat_, lr);
    flat_.zero_();
  }

 private:
  void apply(Shard shard) {
    c10::cuda::CUDAGuard device(flat_.device());
    auto current = c10::cuda::getCurrentCUDAStream();
    shard.grad.record_stream(current.unwrap());
    flat_.narrow(0, shard.offset, shard.grad.numel()).add_(shard.grad.view(-1));
  }

  Inbox& inbox_;
  at::Tensor flat_;
};

}  // namespace pserver

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace pserver;
  using Gil = py::call_guard<py::gil_scoped_release>;
  py::class_<Inbox>(m, "Inbox").def(py::init<>());
  py::class_<Receiver>(m, "Receiver")
      .def(py::init<Inbox&, c10::DeviceIndex>(), py::keep_alive<1, 2>())
      .def("on_message", &Receiver::onMessage, Gil());
  py::class_<Accumulator>(m, "Accumulator")
      .def(py::init<Inbox&, at::Tensor>(), py::keep_alive<1, 2>())
      .def("collect", &Accumulator::collect, Gil())
      .def("step", &Accumulator::step, Gil());
}

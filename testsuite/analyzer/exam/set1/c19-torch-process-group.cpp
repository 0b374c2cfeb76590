// Broadcast on a private stream with a work object (PyTorch).
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

// From the transport library; enqueues on `stream`.
extern "C" int xcclBroadcast(void* buf, size_t bytes, int root, void* comm, cudaStream_t stream);

namespace pg {

class Work {
 public:
  Work(c10::DeviceIndex device, std::vector<at::Tensor> stash) : device_(device), stash_(std::move(stash)) {}

  void mark_end(const c10::cuda::CUDAStream& s) { end_.record(s); }

  // After this, work of the current stream sees the result. The tensors are
  // kept until here, so their memory cannot be reused before.
  void wait() {
    end_.block(c10::cuda::getCurrentCUDAStream(device_));
    stash_.clear();
  }

  void synchronize() {
    wait();
    end_.synchronize();
  }

  ~Work() {
    // Dropped without wait(): the host waits before the stash goes away.
    if (!stash_.empty()) end_.synchronize();
  }

 private:
  c10::DeviceIndex device_;
  std::vector<at::Tensor> stash_;
  at::cuda::CUDAEvent end_;
};

class ProcessGroup {
 public:
  ProcessGroup(void* comm, c10::DeviceIndex device)
      : comm_(comm), device_(device), stream_(c10::cuda::getStreamFromPool(true, device)) {}

  std::shared_ptr<Work> broadcast(at::Tensor t, int root) {
    c10::cuda::CUDAGuard guard(device_);
    TORCH_CHECK(t.is_cuda() && t.is_contiguous(), "contiguous CUDA tensor expected");
    auto work = std::make_shared<Work>(device_, std::vector<at::Tensor>{t});
    begin_after_current();
    launch(t, root);
    work->mark_end(stream_);
    return work;
  }

  // The temporary goes out of scope here, so the allocator has to know.
  void broadcast_object(const std::vector<uint8_t>& bytes, int root) {
    c10::cuda::CUDAGuard guard(device_);
    at::Tensor host = at::empty({static_cast<int64_t>(bytes.size())}, at::TensorOptions().dtype(at::kByte));
    std::copy(bytes.begin(), bytes.end(), host.data_ptr<uint8_t>());
    at::Tensor dev = host.to(c10::Device(c10::kCUDA, device_));  // blocking
    begin_after_current();
    launch(dev, root);
    dev.record_stream(stream_);
  }

 private:
  void begin_after_current() {
    at::cuda::CUDAEvent begin;
    begin.record(c10::cuda::getCurrentCUDAStream(device_));
    begin.block(stream_);
  }

  void launch(const at::Tensor& t, int root) {
    int rc = xcclBroadcast(t.data_ptr(), t.nbytes(), root, comm_, stream_);
    TORCH_CHECK(rc == 0, "broadcast failed: ", rc);
  }

  void* comm_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream stream_;
};

at::Tensor broadcast_and_scale(ProcessGroup& group, const at::Tensor& x, double factor) {
  at::Tensor copy = x.clone();
  auto work = group.broadcast(copy, 0);
  at::Tensor bias = at::ones_like(x);  // overlaps with the broadcast
  work->wait();
  return copy.mul(factor).add_(bias);
}

}  // namespace pg

// Receives sparse embedding gradients from remote workers and adds them to the local table.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace inbox {

__global__ void addRows(float* table, const int64_t* rows, const float* values, int64_t count,
                        int64_t dim) {
  const int64_t r = blockIdx.x;
  if (r >= count) return;
  float* out = table + rows[r] * dim;
  for (int64_t c = threadIdx.x; c < dim; c += blockDim.x) atomicAdd(out + c, values[r * dim + c]);
}

// A message that has been handed to the device. `arrived` is recorded behind the upload.
struct Arrival {
  at::Tensor rows;
  at::Tensor values;
  at::cuda::CUDAEvent arrived;
};

class GradientInbox {
 public:
  GradientInbox(c10::DeviceIndex device, int64_t dim) : device_(device), dim_(dim) {}

  // Called on the network thread.
  void deliver(const int64_t* rows, const float* values, int64_t count) {
    const auto lane = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_);
    c10::cuda::CUDAStreamGuard guard(lane);
    Arrival a;
    a.rows = upload(rows, {count}, at::kLong);
    a.values = upload(values, {count, dim_}, at::kFloat);
    a.arrived.record(lane);
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(a));
  }

  std::optional<Arrival> poll() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    Arrival a = std::move(queue_.front());
    queue_.pop_front();
    return a;
  }

  int64_t dim() const { return dim_; }

 private:
  template <typename T>
  at::Tensor upload(const T* src, at::IntArrayRef shape, at::ScalarType type) const {
    at::Tensor staging =
        at::empty(shape, at::TensorOptions().dtype(type).device(at::kCPU).pinned_memory(true));
    std::memcpy(staging.data_ptr<T>(), src, staging.numel() * sizeof(T));
    return staging.to(at::Device(at::kCUDA, device_), /*non_blocking=*/true);
  }

  c10::DeviceIndex device_;
  int64_t dim_;
  std::mutex mutex_;
  std::deque<Arrival> queue_;
};

class EmbeddingShard {
 public:
  EmbeddingShard(at::Tensor gradTable, GradientInbox& inbox)
      : grad_(std::move(gradTable)), inbox_(inbox) {
    TORCH_CHECK(grad_.is_contiguous() && grad_.size(1) == inbox_.dim(), "bad gradient table");
  }

  // Adds everything that has been delivered so far, on the current stream.
  int drain() {
    int messages = 0;
    while (auto a = inbox_.poll()) {
      apply(*a);
      ++messages;
    }
    return messages;
  }

 private:
  void apply(Arrival& a) {
    const auto cur = c10::cuda::getCurrentCUDAStream(grad_.get_device());
    a.rows.record_stream(cur);
    a.values.record_stream(cur);
    const int64_t count = a.rows.numel();
    if (count == 0) return;
    addRows<<<static_cast<unsigned>(count), 128, 0, cur.stream()>>>(
        grad_.data_ptr<float>(), a.rows.data_ptr<int64_t>(), a.values.data_ptr<float>(), count,
        grad_.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  at::Tensor grad_;
  GradientInbox& inbox_;
};

}  // namespace inbox

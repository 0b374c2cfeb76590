// Computes activation statistics on a side stream while the main computation goes on.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

namespace stats {

__global__ void momentSums(const float* x, double* sums, int64_t n) {
  double s = 0.0, q = 0.0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x) {
    s += x[i];
    q += double(x[i]) * x[i];
  }
  atomicAdd(&sums[0], s);
  atomicAdd(&sums[1], q);
}

struct Moments {
  double mean = 0.0;
  double stddev = 0.0;
};

class ActivationMonitor {
 public:
  explicit ActivationMonitor(c10::DeviceIndex device)
      : side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  // Starts the statistics of `x`, a tensor of the current stream that is not modified before
  // settle(). The monitor keeps the tensor
  // until settle() has put the side stream's work before the current stream's next one; a block
  // that goes back to the allocator after that may be used again at once.
  void observe(at::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == at::kFloat);
    const auto cur = c10::cuda::getCurrentCUDAStream(side_.device_index());
    at::cuda::CUDAEvent produced;
    produced.record(cur);
    produced.block(side_);

    Job job{std::move(x), at::Tensor(), at::cuda::CUDAEvent()};
    job.result = reduce(job.input);
    job.done.record(side_);
    jobs_.push_back(std::move(job));
  }

  // To be called on the stream of the observed tensors, before they may be dropped.
  void settle() {
    const auto cur = c10::cuda::getCurrentCUDAStream(side_.device_index());
    for (Job& j : jobs_) {
      if (!j.input.defined()) continue;
      j.done.block(cur);
      j.count = j.input.numel();
      j.input.reset();
    }
  }

  bool ready() const { return !jobs_.empty() && jobs_.front().done.query(); }

  Moments pop() {
    TORCH_CHECK(!jobs_.empty() && !jobs_.front().input.defined(), "settle() first");
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    job.done.synchronize();
    const double* v = job.result.data_ptr<double>();
    Moments m;
    const double n = static_cast<double>(std::max<int64_t>(job.count, 1));
    m.mean = v[0] / n;
    m.stddev = std::sqrt(std::max(v[1] / n - m.mean * m.mean, 0.0));
    return m;
  }

 private:
  struct Job {
    at::Tensor input;
    at::Tensor result;  // pinned, two doubles
    at::cuda::CUDAEvent done;
    int64_t count = 0;
  };

  at::Tensor reduce(const at::Tensor& x) const {
    c10::cuda::CUDAStreamGuard guard(side_);
    const at::Tensor sums = at::zeros({2}, x.options().dtype(at::kDouble));
    const int64_t n = x.numel();
    if (n > 0) {
      const int grid = static_cast<int>(std::min<int64_t>((n + 255) / 256, 1024));
      momentSums<<<grid, 256, 0, side_.stream()>>>(x.data_ptr<float>(), sums.data_ptr<double>(), n);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    at::Tensor host = at::empty(
        {2}, at::TensorOptions().dtype(at::kDouble).device(at::kCPU).pinned_memory(true));
    host.copy_(sums, /*non_blocking=*/true);
    return host;
  }

  c10::cuda::CUDAStream side_;
  std::deque<Job> jobs_;
};

// A forward pass that reports the moments of every layer's output.
std::vector<Moments> traceLayers(const std::vector<at::Tensor>& weights, at::Tensor x,
                                 ActivationMonitor& monitor) {
  for (const at::Tensor& w : weights) {
    x = at::relu(at::matmul(x, w)).contiguous();
    monitor.observe(x);
  }
  monitor.settle();
  std::vector<Moments> out;
  for (size_t i = 0; i < weights.size(); ++i) out.push_back(monitor.pop());
  return out;
}

}  // namespace stats

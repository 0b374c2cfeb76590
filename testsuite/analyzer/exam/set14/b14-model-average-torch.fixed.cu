// Federated averaging of acoustic models inside one host: the parameters of a
// replica are packed and reduced into the shared average on a comm stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace fedavg {

__global__ void accumulate(const float* __restrict__ src, float* __restrict__ dst, float weight,
                           int64_t n) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
       i += (int64_t)blockDim.x * gridDim.x)
    dst[i] += weight * src[i];
}

static at::Tensor flatten(const std::vector<at::Tensor>& params) {
  std::vector<at::Tensor> flat;
  flat.reserve(params.size());
  for (const auto& p : params) flat.push_back(p.reshape({-1}));
  return at::cat(flat);
}

class Reducer {
 public:
  Reducer(int64_t count, c10::DeviceIndex device)
      : device_(device), comm_(c10::cuda::getStreamFromPool(true, device)) {
    c10::cuda::CUDAGuard guard(device_);
    average_ = at::zeros({count}, at::TensorOptions().device(at::kCUDA, device).dtype(at::kFloat));
    started_.record(c10::cuda::getCurrentCUDAStream(device_));
    started_.block(comm_);
    c10::cuda::CUDACachingAllocator::recordStream(average_.storage().data_ptr(), comm_);
    finished_.record(comm_);
  }

  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // Adds one replica; returns as soon as the work is enqueued.
  void add(const std::vector<at::Tensor>& params, float weight) {
    c10::cuda::CUDAGuard guard(device_);
    at::Tensor flat = flatten(params);
    packed_.record(c10::cuda::getCurrentCUDAStream(device_));
    packed_.block(comm_);
    c10::cuda::CUDACachingAllocator::recordStream(flat.storage().data_ptr(), comm_);
    reduce(flat, weight);
    finished_.record(comm_);
  }

  // The average, ready for work on the current stream.
  at::Tensor get() {
    finished_.block(c10::cuda::getCurrentCUDAStream(device_));
    return average_;
  }

 private:
  void reduce(const at::Tensor& flat, float weight) {
    const int64_t n = flat.numel();
    const int grid = static_cast<int>(std::min<int64_t>((n + 255) / 256, 4096));
    accumulate<<<grid, 256, 0, comm_.stream()>>>(flat.const_data_ptr<float>(),
                                                 average_.mutable_data_ptr<float>(), weight, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream comm_;
  at::cuda::CUDAEvent started_;
  at::cuda::CUDAEvent packed_;
  at::cuda::CUDAEvent finished_;
  at::Tensor average_;
};

at::Tensor averageReplicas(const std::vector<std::vector<at::Tensor>>& replicas, int64_t count,
                           c10::DeviceIndex device) {
  Reducer reducer(count, device);
  const float w = 1.f / static_cast<float>(replicas.size());
  for (const auto& params : replicas) reducer.add(params, w);
  return reducer.get();
}

}  // namespace fedavg

// Averages fp32 gradients over all ranks with an fp16 wire format.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <algorithm>
#include <utility>
#include <vector>

#define WIRE_NCCL(call)                                                      \
  do {                                                                       \
    ncclResult_t r_ = (call);                                                \
    TORCH_CHECK(r_ == ncclSuccess, #call, ": ", ncclGetErrorString(r_));     \
  } while (0)

namespace wire {

__global__ void packHalf(const float* src, __half* dst, float scale, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x)
    dst[i] = __float2half(src[i] * scale);
}

__global__ void unpackHalf(const __half* src, float* dst, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * blockDim.x)
    dst[i] = __half2float(src[i]);
}

inline int gridFor(int64_t n) { return static_cast<int>(std::min<int64_t>((n + 255) / 256, 4096)); }

inline __half* halfPtr(const at::Tensor& t) {
  return reinterpret_cast<__half*>(t.data_ptr<at::Half>());
}

class GradientAverager {
 public:
  GradientAverager(ncclComm_t comm, int worldSize, c10::DeviceIndex device)
      : comm_(comm), world_(worldSize),
        commStream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Starts the average of `grad` in place. The result may be used after finish().
  void submit(at::Tensor grad) {
    TORCH_CHECK(grad.is_contiguous() && grad.scalar_type() == at::kFloat, "fp32 gradients only");
    const auto compute = c10::cuda::getCurrentCUDAStream(commStream_.device_index());
    at::Tensor payload = pack(grad, compute);

    at::cuda::CUDAEvent packed;
    packed.record(compute);
    packed.block(commStream_);
    exchange(payload, grad);

    payload.record_stream(commStream_);
    grad.record_stream(commStream_);
    pending_.emplace_back(std::move(grad));
  }

  // Makes the current stream wait for everything that was submitted.
  void finish() {
    if (pending_.empty()) return;
    at::cuda::CUDAEvent done;
    done.record(commStream_);
    done.block(c10::cuda::getCurrentCUDAStream(commStream_.device_index()));
    pending_.clear();
  }

 private:
  at::Tensor pack(const at::Tensor& grad, const c10::cuda::CUDAStream& compute) const {
    at::Tensor payload = at::empty_like(grad, grad.options().dtype(at::kHalf));
    const int64_t n = grad.numel();
    packHalf<<<gridFor(n), 256, 0, compute.stream()>>>(grad.data_ptr<float>(), halfPtr(payload),
                                                       1.0f / world_, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return payload;
  }

  void exchange(const at::Tensor& payload, const at::Tensor& grad) const {
    const int64_t n = payload.numel();
    WIRE_NCCL(ncclAllReduce(halfPtr(payload), halfPtr(payload), static_cast<size_t>(n), ncclHalf,
                            ncclSum, comm_, commStream_.stream()));
    unpackHalf<<<gridFor(n), 256, 0, commStream_.stream()>>>(halfPtr(payload),
                                                             grad.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  ncclComm_t comm_;
  int world_;
  c10::cuda::CUDAStream commStream_;
  std::vector<at::Tensor> pending_;
};

// One backward pass worth of gradients, largest layers first.
void averageAll(GradientAverager& averager, std::vector<at::Tensor> grads) {
  for (auto& g : grads) {
    if (g.defined() && g.numel() > 0) averager.submit(g);
  }
  averager.finish();
}

}  // namespace wire

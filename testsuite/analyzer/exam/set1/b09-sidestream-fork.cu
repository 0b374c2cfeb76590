#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

namespace ddp {

#define DDP_CUDA(call)                                                        \
  if (cudaError_t st = (call); st != cudaSuccess)                             \
    throw std::runtime_error(cudaGetErrorString(st))

struct Param {
  float* data;
  size_t numel;
};

__global__ void init_uniform(float* p, size_t n, float bound, unsigned long long seed) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  unsigned h = static_cast<unsigned>(i * 2654435761u ^ seed);
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  p[i] = bound * (2.f * (h * (1.f / 4294967296.f)) - 1.f);
}

class ParamBucket {
 public:
  explicit ParamBucket(size_t capacity) : capacity_(capacity) {
    DDP_CUDA(cudaMalloc(&flat_, capacity * sizeof(float)));
    DDP_CUDA(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    DDP_CUDA(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    DDP_CUDA(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming));
  }
  ~ParamBucket() {
    cudaStreamSynchronize(side_);
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(side_);
    cudaFree(flat_);
  }
  ParamBucket(const ParamBucket&) = delete;

  // Moves the parameters into the flat bucket.  `current` is the stream on
  // which they were produced and on which the bucket will be used.
  void absorb(std::vector<Param>& params, cudaStream_t current) {
    size_t total = 0;
    for (const auto& p : params) total += p.numel;
    if (used_ + total > capacity_) throw std::length_error("bucket overflow");

    size_t at = used_;
    for (auto& p : params) {
      DDP_CUDA(cudaMemcpyAsync(flat_ + at, p.data, p.numel * sizeof(float),
                               cudaMemcpyDeviceToDevice, side_));
      at += p.numel;
    }
    DDP_CUDA(cudaEventRecord(end_, side_));
    DDP_CUDA(cudaStreamWaitEvent(current, end_, 0));
    used_ = at;
  }

  const float* data() const { return flat_; }
  size_t used() const { return used_; }

 private:
  float* flat_ = nullptr;
  size_t capacity_;
  size_t used_ = 0;
  cudaStream_t side_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

void init_params(std::vector<Param>& params, unsigned long long seed, cudaStream_t stream) {
  for (auto& p : params) {
    unsigned grid = static_cast<unsigned>((p.numel + 255) / 256);
    init_uniform<<<grid, 256, 0, stream>>>(p.data, p.numel, 0.02f, seed++);
  }
  DDP_CUDA(cudaGetLastError());
}

void build_model(std::vector<Param>& params, ParamBucket& bucket, cudaStream_t stream) {
  init_params(params, 1234ull, stream);
  bucket.absorb(params, stream);
}

}  // namespace ddp

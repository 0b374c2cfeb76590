// Data-parallel training of embedding tables: dense gradients are packed into buckets and summed over all
// ranks on a stream of their own, while the next layers' gradients are still computed.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace recsys {

#define CUDA_OK(expr)                                                                             \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

#define NCCL_OK(expr)                                                                             \
  do {                                                                                            \
    ncclResult_t r_ = (expr);                                                                     \
    if (r_ != ncclSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, ncclGetErrorString(r_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void packGradient(float* bucket, const float* grad, std::size_t n, float scale) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) bucket[i] = grad[i] * scale;
}

__global__ void applySum(float* table, const float* bucket, std::size_t n, float rate) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) table[i] -= rate * bucket[i];
}

struct Bucket {
  float* data = nullptr;
  std::size_t capacity = 0;
};

class BucketPool {
 public:
  explicit BucketPool(std::size_t floats) : floats_(floats) {}
  BucketPool(const BucketPool&) = delete;
  ~BucketPool() {
    for (Bucket& b : all_) cudaFree(b.data);
  }

  Bucket get() {
    if (!idle_.empty()) {
      Bucket b = idle_.back();
      idle_.pop_back();
      return b;
    }
    Bucket b;
    b.capacity = floats_;
    CUDA_OK(cudaMalloc(&b.data, floats_ * sizeof(float)));
    all_.push_back(b);
    return b;
  }
  void put(const Bucket& b) { idle_.push_back(b); }

 private:
  std::size_t floats_;
  std::vector<Bucket> all_;
  std::vector<Bucket> idle_;
};

struct Table {
  float* weights;
  const float* grad;
  std::size_t size;
};

class GradientReducer {
 public:
  GradientReducer(ncclComm_t comm, int world, std::size_t bucketFloats, cudaStream_t compute)
      : comm_(comm), scale_(1.f / world), pool_(bucketFloats), compute_(compute) {
    CUDA_OK(cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    CUDA_OK(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
  }
  GradientReducer(const GradientReducer&) = delete;
  ~GradientReducer() {
    cudaStreamSynchronize(reduce_);
    cudaEventDestroy(packed_);
    cudaEventDestroy(reduced_);
    cudaStreamDestroy(reduce_);
  }

  // Called in backward order, as soon as a table's gradient is enqueued on the compute stream.
  void push(const Table& t, float rate) {
    for (std::size_t at = 0; at < t.size;) {
      Bucket b = pool_.get();
      const std::size_t n = t.size - at < b.capacity ? t.size - at : b.capacity;
      pack(b, t.grad + at, n);
      exchange(b, n);
      applySum<<<grid(n), kBlock, 0, reduce_>>>(t.weights + at, b.data, n, rate);
      CUDA_OK(cudaGetLastError());
      pool_.put(b);
      at += n;
    }
  }

  // The compute stream may use the tables again after this.
  void finishStep() {
    CUDA_OK(cudaEventRecord(reduced_, reduce_));
    CUDA_OK(cudaStreamWaitEvent(compute_, reduced_, 0));
  }

 private:
  static constexpr unsigned kBlock = 256;
  static unsigned grid(std::size_t n) { return static_cast<unsigned>((n + kBlock - 1) / kBlock); }

  void pack(const Bucket& b, const float* grad, std::size_t n) {
    packGradient<<<grid(n), kBlock, 0, compute_>>>(b.data, grad, n, scale_);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(packed_, compute_));
  }

  void exchange(const Bucket& b, std::size_t n) {
    CUDA_OK(cudaStreamWaitEvent(reduce_, packed_, 0));
    NCCL_OK(ncclAllReduce(b.data, b.data, n, ncclFloat, ncclSum, comm_, reduce_));
  }

  ncclComm_t comm_;
  float scale_;
  BucketPool pool_;
  cudaStream_t compute_;
  cudaStream_t reduce_ = nullptr;
  cudaEvent_t packed_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
};

void reduceAll(GradientReducer& reducer, const std::vector<Table>& tables, float rate) {
  for (auto it = tables.rbegin(); it != tables.rend(); ++it) reducer.push(*it, rate);
  reducer.finishStep();
}

}  // namespace recsys

// Rank-k updates with cuBLAS. Factors are thrown away by their owner at once; their memory is
// retired and freed when the device has passed the point of the last use.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lowrank {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void ok(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS status " + std::to_string(s));
}

__global__ void randomFactor(float* v, int n, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned h = seed ^ (i * 2654435761u);
  h ^= h >> 13;
  h *= 0x5bd1e995u;
  v[i] = float(h >> 8) * (1.f / 16777216.f) - 0.5f;
}

__global__ void clampDiagonal(float* m, int n, float low) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) m[size_t(i) * n + i] = fmaxf(m[size_t(i) * n + i], low);
}

// Memory that waits for its last user, oldest first.
class RetireQueue {
 public:
  RetireQueue() = default;
  RetireQueue(const RetireQueue&) = delete;
  ~RetireQueue() {
    while (!entries_.empty()) {
      cudaEventSynchronize(entries_.front().passed);
      drop();
    }
  }
  // Nothing that is enqueued after this call may use `memory`; `stream` is behind all who did.
  void retire(void* memory, cudaStream_t stream) {
    Entry e{memory, nullptr};
    ok(cudaEventCreateWithFlags(&e.passed, cudaEventDisableTiming));
    ok(cudaEventRecord(e.passed, stream));
    entries_.push_back(e);
  }
  void collect() {
    while (!entries_.empty() && cudaEventQuery(entries_.front().passed) == cudaSuccess) drop();
  }

 private:
  struct Entry {
    void* memory;
    cudaEvent_t passed;
  };
  void drop() {
    cudaFree(entries_.front().memory);
    cudaEventDestroy(entries_.front().passed);
    entries_.pop_front();
  }
  std::deque<Entry> entries_;
};

class Updater {
 public:
  explicit Updater(int n) : n_(n) {
    ok(cudaStreamCreateWithFlags(&generate_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&multiply_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&generated_, cudaEventDisableTiming));
    ok(cublasCreate(&blas_));
    ok(cublasSetStream(blas_, multiply_));
    ok(cudaMalloc(reinterpret_cast<void**>(&matrix_), size_t(n) * n * sizeof(float)));
    ok(cudaMemsetAsync(matrix_, 0, size_t(n) * n * sizeof(float), multiply_));
  }
  Updater(const Updater&) = delete;
  ~Updater() {
    cudaStreamSynchronize(generate_);
    cudaStreamSynchronize(multiply_);
    cublasDestroy(blas_);
    cudaFree(matrix_);
    cudaEventDestroy(generated_);
    cudaStreamDestroy(generate_);
    cudaStreamDestroy(multiply_);
  }

  void update(int rank, unsigned seed) {
    retired_.collect();
    float* factor = makeFactor(rank, seed);
    apply(factor, rank);
    retired_.retire(factor, multiply_);
  }

  std::vector<float> matrix() {
    std::vector<float> host(size_t(n_) * n_);
    ok(cudaMemcpyAsync(host.data(), matrix_, host.size() * sizeof(float), cudaMemcpyDeviceToHost,
                       multiply_));
    ok(cudaStreamSynchronize(multiply_));
    return host;
  }

 private:
  float* makeFactor(int rank, unsigned seed) {
    float* f = nullptr;
    const int count = n_ * rank;
    ok(cudaMalloc(reinterpret_cast<void**>(&f), size_t(count) * sizeof(float)));
    randomFactor<<<(count + 255) / 256, 256, 0, generate_>>>(f, count, seed);
    ok(cudaGetLastError());
    return f;
  }

  void apply(const float* factor, int rank) {
    ok(cudaEventRecord(generated_, generate_));
    ok(cudaStreamWaitEvent(multiply_, generated_, 0));
    const float alpha = 1.f / rank, beta = 1.f;  // host pointer mode: read during the call
    ok(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_T, n_, n_, rank, &alpha, factor, n_, factor, n_,
                   &beta, matrix_, n_));
    clampDiagonal<<<(n_ + 255) / 256, 256, 0, multiply_>>>(matrix_, n_, 1e-3f);
    ok(cudaGetLastError());
  }

  int n_;
  cudaStream_t generate_ = nullptr, multiply_ = nullptr;
  cudaEvent_t generated_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float* matrix_ = nullptr;
  RetireQueue retired_;
};

}  // namespace lowrank

// Bank of Kalman filters; the covariance products use cuBLAS on the stream of the caller's context.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#define KF_CHECK(ok)                                               \
  do {                                                             \
    if (!(ok)) {                                                   \
      std::fprintf(stderr, "%s:%d: " #ok "\n", __FILE__, __LINE__); \
      std::abort();                                                \
    }                                                              \
  } while (0)
#define KF_CUDA(e) KF_CHECK((e) == cudaSuccess)
#define KF_BLAS(e) KF_CHECK((e) == CUBLAS_STATUS_SUCCESS)

namespace kalman {

__global__ void fillTransition(float* f, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  int row = i % n, col = i / n;
  f[i] = row == col ? 1.f : (col == row + n / 2 ? dt : 0.f);
}

__global__ void addProcessNoise(float* p, int n, float q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i * n + i] += q;
}

struct FilterContext {
  cudaStream_t stream{};
  int states;
  explicit FilterContext(int n) : states(n) {
    KF_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  FilterContext(const FilterContext&) = delete;
  ~FilterContext() { cudaStreamDestroy(stream); }
};

// One handle per stream, bound to it when it is made.
class HandleRegistry {
 public:
  HandleRegistry() = default;
  HandleRegistry(const HandleRegistry&) = delete;
  ~HandleRegistry() {
    for (auto& [stream, handle] : handles_) cublasDestroy(handle);
  }

  cublasHandle_t forContext(const FilterContext& ctx) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = handles_.find(ctx.stream);
    if (it != handles_.end()) return it->second;
    cublasHandle_t handle = nullptr;
    KF_BLAS(cublasCreate(&handle));
    KF_BLAS(cublasSetStream(handle, ctx.stream));
    handles_.emplace(ctx.stream, handle);
    return handle;
  }

 private:
  std::mutex mutex_;
  std::map<cudaStream_t, cublasHandle_t> handles_;
};

class Covariance {
 public:
  Covariance(FilterContext& ctx, HandleRegistry& registry) : ctx_(ctx), registry_(registry) {
    const size_t bytes = size_t(ctx.states) * ctx.states * sizeof(float);
    for (float** p : {&f_, &p_, &tmp_}) KF_CUDA(cudaMallocAsync(reinterpret_cast<void**>(p), bytes, ctx.stream));
    KF_CUDA(cudaMemsetAsync(p_, 0, bytes, ctx.stream));
    fillTransition<<<blocks(ctx.states * ctx.states), 256, 0, ctx.stream>>>(f_, ctx.states, 0.01f);
    KF_CUDA(cudaGetLastError());
  }
  Covariance(const Covariance&) = delete;
  ~Covariance() {
    for (float* p : {f_, p_, tmp_}) cudaFreeAsync(p, ctx_.stream);
    cudaStreamSynchronize(ctx_.stream);
  }

  // P = F P F' + Q
  void predict(float q) {
    multiply(CUBLAS_OP_N, f_, p_, tmp_);
    multiply(CUBLAS_OP_T, tmp_, f_, p_);
    addProcessNoise<<<blocks(ctx_.states), 256, 0, ctx_.stream>>>(p_, ctx_.states, q);
    KF_CUDA(cudaGetLastError());
  }

  float variance(int state) {
    float v = 0.f;
    const float* element = p_ + size_t(state) * ctx_.states + state;
    KF_CUDA(cudaMemcpyAsync(&v, element, sizeof v, cudaMemcpyDeviceToHost, ctx_.stream));
    KF_CUDA(cudaStreamSynchronize(ctx_.stream));
    return v;
  }

 private:
  static int blocks(int n) { return (n + 255) / 256; }
  void multiply(cublasOperation_t opB, const float* a, const float* b, float* c) {
    const float one = 1.f, zero = 0.f;
    const int n = ctx_.states;
    KF_BLAS(cublasSgemm(registry_.forContext(ctx_), CUBLAS_OP_N, opB, n, n, n, &one, a, n, b, n, &zero, c, n));
  }

  FilterContext& ctx_;
  HandleRegistry& registry_;
  float *f_ = nullptr, *p_ = nullptr, *tmp_ = nullptr;
};

}  // namespace kalman

int main() {
  kalman::FilterContext position(64), attitude(128);
  kalman::HandleRegistry registry;
  kalman::Covariance a(position, registry), b(attitude, registry);
  for (int step = 0; step < 100; ++step) {
    a.predict(1e-4f);
    b.predict(1e-5f);
  }
  std::printf("%g %g\n", a.variance(0), b.variance(0));
  return 0;
}

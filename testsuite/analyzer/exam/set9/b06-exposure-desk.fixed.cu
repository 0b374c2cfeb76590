// exposure-desk: nightly exposure matrix of a derivatives desk.
//
//   exposure = delta * shocks            (linear part, GEMM)
//            + 0.5 * gamma .* shocks^2   (convexity part, own kernel)
//
// The GEMM runs on a side stream so that the factor set-up of the convexity
// part can overlap with it.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RT(x)                                                                 \
  do {                                                                        \
    const cudaError_t e_ = (x);                                               \
    if (e_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_));    \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)
#define BLAS(x)                                                               \
  do {                                                                        \
    if ((x) != CUBLAS_STATUS_SUCCESS) {                                       \
      std::fprintf(stderr, "%s failed\n", #x);                                \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

__global__ void square_shocks(const float* shocks, float* squared, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) squared[i] = shocks[i] * shocks[i];
}

__global__ void convexity(const float* gamma, const float* squared, float* exposure, int positions, int scenarios,
                          int factors) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  const int s = blockIdx.y;
  if (p >= positions || s >= scenarios) return;
  float acc = 0.f;
  for (int f = 0; f < factors; ++f)
    acc += gamma[static_cast<std::size_t>(f) * positions + p] * squared[static_cast<std::size_t>(s) * factors + f];
  exposure[static_cast<std::size_t>(s) * positions + p] += 0.5f * acc;
}

class Desk {
 public:
  Desk(int positions, int factors, int scenarios) : p_(positions), f_(factors), s_(scenarios) {
    RT(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    RT(cudaStreamCreateWithFlags(&linear_, cudaStreamNonBlocking));
    RT(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    RT(cudaEventCreateWithFlags(&linear_done_, cudaEventDisableTiming));
    BLAS(cublasCreate(&blas_));
    BLAS(cublasSetStream(blas_, linear_));
    RT(cudaMalloc(&delta_, size(p_, f_)));
    RT(cudaMalloc(&gamma_, size(p_, f_)));
    RT(cudaMalloc(&shocks_, size(f_, s_)));
    RT(cudaMalloc(&squared_, size(f_, s_)));
    RT(cudaMalloc(&exposure_, size(p_, s_)));
  }
  ~Desk() {
    RT(cudaStreamSynchronize(linear_));
    RT(cudaStreamSynchronize(main_));
    BLAS(cublasDestroy(blas_));
    for (float* a : {delta_, gamma_, shocks_, squared_, exposure_}) RT(cudaFree(a));
    RT(cudaEventDestroy(ready_));
    RT(cudaEventDestroy(linear_done_));
    RT(cudaStreamDestroy(linear_));
    RT(cudaStreamDestroy(main_));
  }

  void load(const std::vector<float>& delta, const std::vector<float>& gamma, const std::vector<float>& shocks) {
    RT(cudaMemcpyAsync(delta_, delta.data(), size(p_, f_), cudaMemcpyHostToDevice, main_));
    RT(cudaMemcpyAsync(gamma_, gamma.data(), size(p_, f_), cudaMemcpyHostToDevice, main_));
    RT(cudaMemcpyAsync(shocks_, shocks.data(), size(f_, s_), cudaMemcpyHostToDevice, main_));
    RT(cudaMemsetAsync(exposure_, 0, size(p_, s_), main_));
    RT(cudaEventRecord(ready_, main_));
  }

  void add_linear() {
    const float one = 1.f;
    RT(cudaStreamWaitEvent(linear_, ready_, 0));
    BLAS(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, p_, s_, f_, &one, delta_, p_, shocks_, f_, &one, exposure_, p_));
    RT(cudaEventRecord(linear_done_, linear_));
  }

  void add_convexity() {
    const std::size_t n = static_cast<std::size_t>(f_) * s_;
    square_shocks<<<static_cast<unsigned>((n + 255) / 256), 256, 0, main_>>>(shocks_, squared_, n);
    RT(cudaStreamWaitEvent(main_, linear_done_, 0));
    convexity<<<dim3((p_ + 127) / 128, s_), 128, 0, main_>>>(gamma_, squared_, exposure_, p_, s_, f_);
    RT(cudaGetLastError());
  }

  std::vector<float> collect() {
    std::vector<float> out(static_cast<std::size_t>(p_) * s_);
    RT(cudaStreamWaitEvent(main_, linear_done_, 0));
    RT(cudaMemcpyAsync(out.data(), exposure_, size(p_, s_), cudaMemcpyDeviceToHost, main_));
    RT(cudaStreamSynchronize(main_));
    return out;
  }

 private:
  static std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * b * sizeof(float); }

  int p_, f_, s_;
  cudaStream_t main_ = nullptr, linear_ = nullptr;
  cudaEvent_t ready_ = nullptr, linear_done_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float *delta_ = nullptr, *gamma_ = nullptr, *shocks_ = nullptr, *squared_ = nullptr, *exposure_ = nullptr;
};

int main() {
  const int positions = 2000, factors = 256, scenarios = 500;
  std::vector<float> delta(static_cast<std::size_t>(positions) * factors, 0.01f);
  std::vector<float> gamma(delta.size(), 0.002f);
  std::vector<float> shocks(static_cast<std::size_t>(factors) * scenarios, 0.5f);
  Desk desk(positions, factors, scenarios);
  desk.load(delta, gamma, shocks);
  desk.add_linear();
  desk.add_convexity();
  double total = 0.0;
  for (float v : desk.collect()) total += v;
  std::printf("total exposure %.3f\n", total);
  return 0;
}

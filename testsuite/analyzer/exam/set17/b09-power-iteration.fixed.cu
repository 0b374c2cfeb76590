// Dominant eigenpair of a dense symmetric matrix by power iteration.  The norm of every
// iterate is brought to the host beside the device work and decides when to stop.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace eigen {

#define RT(x)                                                                        \
  do {                                                                               \
    cudaError_t e_ = (x);                                                            \
    if (e_ != cudaSuccess) throw std::runtime_error(std::string(#x ": ") + cudaGetErrorString(e_)); \
  } while (0)
#define BLAS(x)                                                                      \
  do {                                                                               \
    if ((x) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(#x);                  \
  } while (0)

__global__ void fillOnes(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = 1.0f;
}

__global__ void normalize(const float* w, const float* norm, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = w[i] / *norm;
}

class PowerIteration {
 public:
  explicit PowerIteration(int n) : n_(n) {
    RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT(cudaEventCreateWithFlags(&norm_copied_, cudaEventDisableTiming));
    BLAS(cublasCreate(&blas_));
    BLAS(cublasSetStream(blas_, stream_));
    BLAS(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE));
    RT(cudaMalloc(reinterpret_cast<void**>(&v_), n_ * sizeof(float)));
    RT(cudaMalloc(reinterpret_cast<void**>(&w_), n_ * sizeof(float)));
    RT(cudaMalloc(reinterpret_cast<void**>(&scalars_), 3 * sizeof(float)));
    RT(cudaMallocHost(reinterpret_cast<void**>(&host_norm_), sizeof(float)));
    const float constants[2] = {1.0f, 0.0f};
    RT(cudaMemcpyAsync(scalars_, constants, sizeof(constants), cudaMemcpyHostToDevice, stream_));
    RT(cudaStreamSynchronize(stream_));
  }

  ~PowerIteration() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(host_norm_);
    cudaFree(scalars_);
    cudaFree(w_);
    cudaFree(v_);
    cublasDestroy(blas_);
    cudaEventDestroy(norm_copied_);
    cudaStreamDestroy(stream_);
  }
  PowerIteration(const PowerIteration&) = delete;
  PowerIteration& operator=(const PowerIteration&) = delete;

  // `matrix` is n x n, column major, complete on the device.
  float solve(const float* matrix, int maxIterations, float tolerance) {
    fillOnes<<<blocks(), 256, 0, stream_>>>(v_, n_);
    RT(cudaGetLastError());
    float previous = 0.0f;
    for (int i = 0; i < maxIterations; ++i) {
      iterate(matrix);
      if (converged(previous, tolerance)) break;
      previous = norm();
    }
    RT(cudaStreamSynchronize(stream_));
    return *host_norm_;
  }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  void iterate(const float* matrix) {
    const float* one = scalars_;
    const float* zero = scalars_ + 1;
    float* normDev = scalars_ + 2;
    BLAS(cublasSgemv(blas_, CUBLAS_OP_N, n_, n_, one, matrix, n_, v_, 1, zero, w_, 1));
    BLAS(cublasSnrm2(blas_, n_, w_, 1, normDev));
    RT(cudaMemcpyAsync(host_norm_, normDev, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    RT(cudaEventRecord(norm_copied_, stream_));
    normalize<<<blocks(), 256, 0, stream_>>>(w_, normDev, v_, n_);
    RT(cudaGetLastError());
  }

  float norm() const { return *host_norm_; }

  bool converged(float previous, float tolerance) {
    RT(cudaEventSynchronize(norm_copied_));
    const float now = norm();
    return std::fabs(now - previous) <= tolerance * now;
  }

  int n_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t norm_copied_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float *v_ = nullptr, *w_ = nullptr;
  float* scalars_ = nullptr;    // one, zero, norm
  float* host_norm_ = nullptr;  // page-locked
};

float spectralRadius(const float* matrix, int n) {
  PowerIteration solver(n);
  return solver.solve(matrix, 500, 1e-6f);
}

}  // namespace eigen

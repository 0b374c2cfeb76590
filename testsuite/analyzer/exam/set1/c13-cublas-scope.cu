// Power iteration on several matrices with one cuBLAS handle.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace eig {

inline void run(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorName(e));
}
inline void run(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusName(s));
}

// Points a handle at a stream for the length of a scope.
class StreamScope {
 public:
  StreamScope(cublasHandle_t h, cudaStream_t s) : handle_(h) {
    run(cublasGetStream(handle_, &before_));
    run(cublasSetStream(handle_, s));
  }
  ~StreamScope() { cublasSetStream(handle_, before_); }
  StreamScope(const StreamScope&) = delete;

 private:
  cublasHandle_t handle_;
  cudaStream_t before_ = nullptr;
};

__global__ void divide_by(float* x, const float* norm, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] /= *norm;
}

class PowerIteration {
 public:
  PowerIteration(cublasHandle_t blas, int n) : blas_(blas), n_(n) {
    run(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    run(cudaEventCreateWithFlags(&entry_, cudaEventDisableTiming));
    run(cudaEventCreateWithFlags(&exit_, cudaEventDisableTiming));
    run(cudaMalloc(&y_, n * sizeof(float)));
    run(cudaMalloc(&norm_, sizeof(float)));
  }
  ~PowerIteration() {
    cudaStreamSynchronize(stream_);
    cudaFree(norm_);
    cudaFree(y_);
    cudaEventDestroy(exit_);
    cudaEventDestroy(entry_);
    cudaStreamDestroy(stream_);
  }
  PowerIteration(const PowerIteration&) = delete;

  // a and x belong to `caller`: read and written between what it has now and
  // what it gets after this call.
  void iterate(const float* a, float* x, int steps, cudaStream_t caller) {
    run(cudaEventRecord(entry_, caller));
    run(cudaStreamWaitEvent(stream_, entry_, 0));
    {
      StreamScope scope(blas_, stream_);
      cublasPointerMode_t mode;
      run(cublasGetPointerMode(blas_, &mode));
      for (int s = 0; s < steps; ++s) {
        const float one = 1.f, zero = 0.f;
        run(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_HOST));
        run(cublasSgemv(blas_, CUBLAS_OP_N, n_, n_, &one, a, n_, x, 1, &zero, y_, 1));
        run(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE));
        run(cublasSnrm2(blas_, n_, y_, 1, norm_));
        divide_by<<<(n_ + 127) / 128, 128, 0, stream_>>>(y_, norm_, n_);
        run(cudaGetLastError());
        run(cublasScopy(blas_, n_, y_, 1, x, 1));
      }
      run(cublasSetPointerMode(blas_, mode));
    }
    run(cudaEventRecord(exit_, stream_));
    run(cudaStreamWaitEvent(caller, exit_, 0));
  }

  float last_norm() {
    float* host = nullptr;
    run(cudaMallocHost(&host, sizeof(float)));
    cudaError_t e = cudaMemcpyAsync(host, norm_, sizeof(float), cudaMemcpyDeviceToHost, stream_);
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream_);
    const float value = e == cudaSuccess ? *host : NAN;
    cudaFreeHost(host);
    run(e);
    return value;
  }

 private:
  cublasHandle_t blas_;
  int n_;
  float* y_ = nullptr;
  float* norm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t entry_ = nullptr, exit_ = nullptr;
};

}  // namespace eig

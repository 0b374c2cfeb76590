#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>

namespace nn {

inline void cuda_ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void blas_ok(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(s));
}

__global__ void bias_gelu(float* h, const float* bias, int width, size_t n) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float v = h[i] + bias[i % width];
  h[i] = 0.5f * v * (1.f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

// One cuBLAS handle for the whole process; every user sets its stream first.
class Blas {
 public:
  Blas() { blas_ok(cublasCreate(&handle_)); }
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  cublasHandle_t on(cudaStream_t stream) {
    blas_ok(cublasSetStream(handle_, stream));
    return handle_;
  }
  cublasHandle_t raw() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

class FeedForward {
 public:
  FeedForward(Blas& blas, int dim, int hidden, int max_tokens) : blas_(blas), dim_(dim), hidden_(hidden) {
    cuda_ok(cudaStreamCreateWithFlags(&layer_, cudaStreamNonBlocking));
    cuda_ok(cudaStreamCreateWithFlags(&skip_, cudaStreamNonBlocking));
    cuda_ok(cudaEventCreateWithFlags(&skip_done_, cudaEventDisableTiming));
    cuda_ok(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    cuda_ok(cudaMalloc(&h_, sizeof(float) * hidden * max_tokens));
  }
  ~FeedForward() {
    cudaStreamSynchronize(layer_);
    cudaStreamSynchronize(skip_);
    cudaFree(h_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(skip_done_);
    cudaStreamDestroy(skip_);
    cudaStreamDestroy(layer_);
  }

  cudaStream_t stream() const { return layer_; }

  // y = W2 * gelu(W1 * x + b) + S * x, column-major, x produced on stream().
  void forward(const float* w1, const float* bias, const float* w2, const float* skip_w, const float* x,
               float* y, int tokens) {
    cuda_ok(cudaEventRecord(begin_, layer_));
    multiply(blas_.on(layer_), w1, x, h_, hidden_, dim_, tokens, 0.f);
    project(skip_w, x, y, tokens);

    size_t n = static_cast<size_t>(hidden_) * tokens;
    bias_gelu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, layer_>>>(h_, bias, hidden_, n);
    cuda_ok(cudaGetLastError());
    cuda_ok(cudaStreamWaitEvent(layer_, skip_done_, 0));
    multiply(blas_.raw(), w2, h_, y, dim_, hidden_, tokens, 1.f);
  }

 private:
  void project(const float* w, const float* x, float* y, int tokens) {
    cuda_ok(cudaStreamWaitEvent(skip_, begin_, 0));
    multiply(blas_.on(skip_), w, x, y, dim_, dim_, tokens, 0.f);
    cuda_ok(cudaEventRecord(skip_done_, skip_));
  }

  static void multiply(cublasHandle_t h, const float* w, const float* x, float* y, int m, int k, int n,
                       float beta) {
    const float one = 1.f;
    blas_ok(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, w, m, x, k, &beta, y, m));
  }

  Blas& blas_;
  int dim_, hidden_;
  float* h_ = nullptr;
  cudaStream_t layer_ = nullptr, skip_ = nullptr;
  cudaEvent_t begin_ = nullptr, skip_done_ = nullptr;
};

}  // namespace nn

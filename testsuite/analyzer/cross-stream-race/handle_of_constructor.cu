// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DOPEN
//
// The constructor binds a library's handle to a stream that the object keeps to itself; a method works on its caller's
// stream, which is another one. If others can get at the object's stream (OPEN), it may be the same.
#include <cublas_v2.h>
#include <cuda_runtime.h>

__global__ void spread(const float* in, float* tmp, int n) { if (threadIdx.x < n) tmp[threadIdx.x] = 2 * in[threadIdx.x]; }

class Norm {
 public:
  explicit Norm(int n) : n_(n) {
    cudaStreamCreateWithFlags(&mine_, cudaStreamNonBlocking);
    cublasCreate(&blas_);
    cublasSetStream(blas_, mine_);
    cudaMalloc(reinterpret_cast<void**>(&tmp_), n * sizeof(float));
  }
  ~Norm() {
    cudaStreamSynchronize(mine_);
    cublasDestroy(blas_);
    cudaFree(tmp_);
    cudaStreamDestroy(mine_);
  }
#ifdef OPEN
  cudaStream_t stream() const { return mine_; }
#endif
  float of(const float* in, cudaStream_t stream) {
    float norm = 0;
#if defined(FIXED) && !defined(OPEN)
    cublasSetStream(blas_, stream);
#endif
    spread<<<1, 256, 0, stream>>>(in, tmp_, n_);
    cublasSnrm2(blas_, n_, tmp_, 1, &norm);  // FIRES: cross-stream-race
    return norm;
  }

 private:
  int n_;
  cublasHandle_t blas_ = nullptr;
  cudaStream_t mine_ = nullptr;
  float* tmp_ = nullptr;
};

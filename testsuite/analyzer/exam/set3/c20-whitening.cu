// Feature whitening: Thrust, CUB and cuBLAS share the stream of an execution context.
#include <cub/device/device_reduce.cuh>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include <stdexcept>

namespace whiten {

template <typename S>
void ok(S status, const char* what) {
  if (static_cast<int>(status) != 0) throw std::runtime_error(what);
}

class Context {
 public:
  Context() {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    ok(cublasCreate(&blas_), "cublasCreate");
    ok(cublasSetStream(blas_, stream_), "cublasSetStream");
    ok(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  }
  ~Context() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }
  Context(const Context&) = delete;
  cudaStream_t stream() const { return stream_; }
  cublasHandle_t blas() const { return blas_; }

 private:
  cudaStream_t stream_{};
  cublasHandle_t blas_{};
};

template <typename T>
class Temp {
 public:
  Temp(const Context& c, size_t n) : s_(c.stream()) {
    ok(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), s_), "cudaMallocAsync");
  }
  ~Temp() { cudaFreeAsync(p_, s_); }
  Temp(const Temp&) = delete;
  T* get() const { return p_; }

 private:
  T* p_{};
  cudaStream_t s_;
};

struct SubtractMean {
  float* x;
  const float* sum;
  int n;
  __host__ __device__ void operator()(int i) const { x[i] -= *sum / n; }
};

__global__ void reciprocal(const float* norm, float* alpha) { *alpha = *norm > 0 ? 1.0f / *norm : 0.0f; }

void subtract_mean(const Context& c, float* x, int n) {
  Temp<float> sum(c, 1);
  size_t bytes = 0;
  ok(cub::DeviceReduce::Sum(nullptr, bytes, x, sum.get(), n, c.stream()), "cub size");
  Temp<char> scratch(c, bytes);
  ok(cub::DeviceReduce::Sum(scratch.get(), bytes, x, sum.get(), n, c.stream()), "cub sum");
  thrust::for_each_n(thrust::cuda::par_nosync.on(c.stream()), thrust::counting_iterator<int>(0), n,
                     SubtractMean{x, sum.get(), n});
}

void scale_to_unit(const Context& c, float* x, int n) {
  Temp<float> norm(c, 1), alpha(c, 1);
  ok(cublasSnrm2(c.blas(), n, x, 1, norm.get()), "cublasSnrm2");
  reciprocal<<<1, 1, 0, c.stream()>>>(norm.get(), alpha.get());
  ok(cudaGetLastError(), "reciprocal");
  ok(cublasSscal(c.blas(), n, alpha.get(), x, 1), "cublasSscal");
}

}  // namespace whiten

// In-place on a host vector.
void whiten_feature(float* host, int n) {
  whiten::Context ctx;
  whiten::Temp<float> x(ctx, n);
  whiten::ok(cudaMemcpyAsync(x.get(), host, n * sizeof(float), cudaMemcpyHostToDevice, ctx.stream()), "upload");
  whiten::subtract_mean(ctx, x.get(), n);
  whiten::scale_to_unit(ctx, x.get(), n);
  whiten::ok(cudaMemcpyAsync(host, x.get(), n * sizeof(float), cudaMemcpyDeviceToHost, ctx.stream()), "download");
  whiten::ok(cudaStreamSynchronize(ctx.stream()), "sync");
}

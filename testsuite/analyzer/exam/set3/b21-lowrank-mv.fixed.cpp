// Low-rank adapter matrix-vector product used by the AOTInductor custom-op tests.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cublas_v2.h>

namespace lowrank {

#define LR_CUBLAS_CHECK(expr)                                   \
  do {                                                          \
    cublasStatus_t st_ = (expr);                                \
    TORCH_CHECK(st_ == CUBLAS_STATUS_SUCCESS, #expr " failed"); \
  } while (0)

// One handle per op instance: the global handle pool of ATen is not
// reachable through the stable ABI.
class BlasHandle {
 public:
  BlasHandle() { LR_CUBLAS_CHECK(cublasCreate(&handle_)); }
  ~BlasHandle() { cublasDestroy(handle_); }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

// out[m] = mat[m, n] * vec[n]; mat is row-major, so cuBLAS sees its transpose.
void mv_tensor_accessor(
    const BlasHandle& blas,
    const at::Tensor& mat,
    const at::Tensor& vec,
    at::Tensor& out) {
  TORCH_CHECK(mat.is_cuda() && mat.dim() == 2 && mat.is_contiguous());
  TORCH_CHECK(vec.is_contiguous() && out.is_contiguous());
  const int m = static_cast<int>(mat.size(0));
  const int n = static_cast<int>(mat.size(1));
  const float alpha = 1.f, beta = 0.f;
  LR_CUBLAS_CHECK(cublasSetStream(blas.get(), c10::cuda::getCurrentCUDAStream(mat.get_device())));
  LR_CUBLAS_CHECK(cublasSgemv(
      blas.get(),
      CUBLAS_OP_T,
      n,
      m,
      &alpha,
      mat.const_data_ptr<float>(),
      n,
      vec.const_data_ptr<float>(),
      1,
      &beta,
      out.mutable_data_ptr<float>(),
      1));
}

class LowRankAdapter {
 public:
  LowRankAdapter(at::Tensor down, at::Tensor up)
      : down_(std::move(down)),
        up_(std::move(up)),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, down_.get_device())) {
    // The weights were produced on the caller's stream.
    at::cuda::CUDAEvent loaded;
    loaded.record(c10::cuda::getCurrentCUDAStream(down_.get_device()));
    loaded.block(stream_);
    down_.record_stream(stream_);
    up_.record_stream(stream_);
  }

  at::Tensor forward(const at::Tensor& x) {
    auto caller = c10::cuda::getCurrentCUDAStream(x.get_device());
    at::cuda::CUDAEvent fork;
    fork.record(caller);
    fork.block(stream_);
    x.record_stream(stream_);

    at::Tensor y;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      at::Tensor scaled = x.mul(scale_).contiguous();
      at::Tensor mid = at::empty({down_.size(0)}, x.options());
      y = at::empty({up_.size(0)}, x.options());
      mv_tensor_accessor(blas_, down_, scaled, mid);
      mid.relu_();
      mv_tensor_accessor(blas_, up_, mid, y);
      y.add_(x.mean());
    }
    at::cuda::CUDAEvent join;
    join.record(stream_);
    join.block(caller);
    y.record_stream(caller);
    return y;
  }

 private:
  at::Tensor down_;
  at::Tensor up_;
  c10::cuda::CUDAStream stream_;
  BlasHandle blas_;
  double scale_ = 0.125;
};

} // namespace lowrank

at::Tensor run_adapter(at::Tensor down, at::Tensor up, at::Tensor x) {
  lowrank::LowRankAdapter adapter(std::move(down), std::move(up));
  return adapter.forward(x);
}

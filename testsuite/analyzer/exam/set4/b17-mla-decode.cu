// Latent-attention decode step, run beside the dense path of the layer.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <cuda_runtime.h>

namespace mla {

struct Params {
  const float* q;       // [batch, heads, dim]
  const float* latent;  // [batch, len, dim]
  float* out;           // [batch, heads, dim]
  int batch, heads, len, dim;
};

constexpr int kThreads = 128;

__global__ void decode_kernel(Params p) {
  extern __shared__ float score[];
  const int b = blockIdx.y, h = blockIdx.x;
  const float* q = p.q + (size_t(b) * p.heads + h) * p.dim;
  const float* kv = p.latent + size_t(b) * p.len * p.dim;
  for (int t = threadIdx.x; t < p.len; t += kThreads) {
    float s = 0.f;
    for (int d = 0; d < p.dim; ++d) s += q[d] * kv[size_t(t) * p.dim + d];
    score[t] = __expf(s);
  }
  __syncthreads();
  float total = 0.f;
  for (int t = 0; t < p.len; ++t) total += score[t];
  for (int d = threadIdx.x; d < p.dim; d += kThreads) {
    float acc = 0.f;
    for (int t = 0; t < p.len; ++t) acc += score[t] * kv[size_t(t) * p.dim + d];
    p.out[(size_t(b) * p.heads + h) * p.dim + d] = acc / total;
  }
}

class DecodeForward {
 public:
  explicit DecodeForward(int max_len) : smem_(max_len * sizeof(float)) {
    C10_CUDA_CHECK(cudaFuncSetAttribute(decode_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(smem_)));
  }

  void operator()(const Params& p, cudaStream_t stream) const {
    TORCH_CHECK(p.len * sizeof(float) <= smem_, "sequence too long");
    dim3 grid(p.heads, p.batch);
    decode_kernel<<<grid, kThreads, smem_>>>(p);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

 private:
  size_t smem_;
};

class MlaLayer {
 public:
  MlaLayer(at::Tensor dense, int max_len)
      : dense_(std::move(dense)), forward_(max_len), side_(c10::cuda::getStreamFromPool(true, dense_.get_device())) {}

  at::Tensor operator()(const at::Tensor& q, const at::Tensor& latent, const at::Tensor& x, double scale) {
    TORCH_CHECK(q.is_cuda() && q.dim() == 3 && latent.dim() == 3);
    at::Tensor out = at::empty_like(q);
    attend(q, latent, out, scale);
    at::Tensor y = at::matmul(x, dense_);
    joined_.block(c10::cuda::getCurrentCUDAStream(q.get_device()));
    return out.flatten(1).add(y);
  }

 private:
  void attend(const at::Tensor& q, const at::Tensor& latent, at::Tensor& out, double scale) {
    forked_.record(c10::cuda::getCurrentCUDAStream(q.get_device()));
    c10::cuda::CUDAStreamGuard guard(side_);
    forked_.block(side_);
    at::Tensor qs = q.mul(scale).contiguous();
    at::Tensor kv = latent.contiguous();
    Params p{qs.const_data_ptr<float>(), kv.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
             int(q.size(0)),             int(q.size(1)),             int(latent.size(1)),
             int(q.size(2))};
    forward_(p, side_.stream());
    joined_.record(side_);
  }

  at::Tensor dense_;
  DecodeForward forward_;
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent forked_, joined_;
};

at::Tensor mla_decode(const at::Tensor& q, const at::Tensor& latent, const at::Tensor& x, const at::Tensor& dense,
                      double scale) {
  const c10::cuda::CUDAGuard device_guard(q.device());
  MlaLayer layer(dense, 8192);
  return layer(q, latent, x, scale);
}

}  // namespace mla

TORCH_LIBRARY_FRAGMENT(mla, m) {
  m.def("decode(Tensor q, Tensor latent, Tensor x, Tensor dense, float scale) -> Tensor");
}
TORCH_LIBRARY_IMPL(mla, CUDA, m) { m.impl("decode", &mla::mla_decode); }

// Online vector quantizer: the trainer publishes codebook rows between encoder batches. One host thread.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

namespace quant {

__global__ void nearestRow(const float* codebook, const float* x, int64_t* code, int rows, int dim,
                           int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 3.4e38f;
  int64_t arg = 0;
  for (int r = 0; r < rows; ++r) {
    float d = 0.f;
    for (int k = 0; k < dim; ++k) {
      const float v = x[i * dim + k] - codebook[r * dim + k];
      d += v * v;
    }
    if (d < best) {
      best = d;
      arg = r;
    }
  }
  code[i] = arg;
}

__global__ void stashRows(const float* codebook, const int64_t* code, float* out, int dim, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * dim) return;
  out[i] = codebook[code[i / dim] * dim + i % dim];
}

__global__ void scatterRows(float* codebook, const int64_t* ids, const float* values, int dim, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * dim) return;
  codebook[ids[i / dim] * dim + i % dim] = values[i];
}

class CodebookServer {
 public:
  CodebookServer(int rows, int dim, c10::DeviceIndex device)
      : rows_(rows), dim_(dim),
        encode_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)),
        ingest_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {
    const c10::cuda::CUDAStreamGuard guard(encode_);
    codebook_ = at::zeros({rows, dim}, at::device(at::Device(at::kCUDA, device)).dtype(at::kFloat));
    rowsRead_.record(encode_);
    published_.record(encode_);
  }

  ~CodebookServer() {
    encode_.synchronize();
    ingest_.synchronize();
  }

  // Encodes a batch; returns the reconstruction, valid in the caller's current stream.
  at::Tensor encode(const at::Tensor& x) {
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(encode_.device_index());
    handOver(x, caller, encode_);
    published_.block(encode_);
    at::Tensor out;
    {
      const c10::cuda::CUDAStreamGuard guard(encode_);
      out = reconstruct(x);
    }
    at::cuda::CUDAEvent done;
    done.record(encode_);
    done.block(caller);
    out.record_stream(caller.unwrap());
    return out;
  }

  // Replaces rows of the codebook by new centroids.
  void publish(const at::Tensor& ids, const at::Tensor& values) {
    const c10::cuda::CUDAStream caller = c10::cuda::getCurrentCUDAStream(ingest_.device_index());
    handOver(ids, caller, ingest_);
    handOver(values, caller, ingest_);
    rowsRead_.block(ingest_);
    const int n = static_cast<int>(ids.numel());
    const int total = n * dim_;
    const c10::cuda::CUDAGuard guard(ingest_.device_index());
    scatterRows<<<(total + 255) / 256, 256, 0, ingest_>>>(
        codebook_.data_ptr<float>(), ids.data_ptr<int64_t>(), values.data_ptr<float>(), dim_, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    published_.record(ingest_);
  }

 private:
  static void handOver(const at::Tensor& t, const c10::cuda::CUDAStream& from,
                       const c10::cuda::CUDAStream& to) {
    at::cuda::CUDAEvent ready;
    ready.record(from);
    ready.block(to);
    t.record_stream(to.unwrap());
  }

  at::Tensor reconstruct(const at::Tensor& x) {
    const int n = static_cast<int>(x.size(0));
    at::Tensor code = at::empty({n}, x.options().dtype(at::kLong));
    at::Tensor out = at::empty({n, dim_}, x.options());
    nearestRow<<<(n + 127) / 128, 128, 0, encode_>>>(
        codebook_.data_ptr<float>(), x.data_ptr<float>(), code.data_ptr<int64_t>(), rows_, dim_, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    stash(code, out, n);
    rowsRead_.record(encode_);
    return out;
  }

  void stash(const at::Tensor& code, at::Tensor& out, int n) {
    const int total = n * dim_;
    stashRows<<<(total + 255) / 256, 256, 0, encode_>>>(
        codebook_.data_ptr<float>(), code.data_ptr<int64_t>(), out.data_ptr<float>(), dim_, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  int rows_;
  int dim_;
  c10::cuda::CUDAStream encode_;
  c10::cuda::CUDAStream ingest_;
  at::Tensor codebook_;
  at::cuda::CUDAEvent rowsRead_;
  at::cuda::CUDAEvent published_;
};

}  // namespace quant

// Resampling filters are shared by all operators of a device; see resampling.h.
#include <cuda_runtime.h>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#define CUDA_CALL(...)                                                           \
  do {                                                                           \
    cudaError_t err__ = (__VA_ARGS__);                                           \
    if (err__ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err__)); \
  } while (0)

namespace dali {
namespace mm {
template <typename T>
struct DevDeleter { void operator()(T *p) const { cudaFree(p); } };
template <typename T>
struct PinnedDeleter { void operator()(T *p) const { cudaFreeHost(p); } };
template <typename T> using device_ptr = std::unique_ptr<T[], DevDeleter<T>>;
template <typename T> using pinned_ptr = std::unique_ptr<T[], PinnedDeleter<T>>;

template <typename T>
device_ptr<T> alloc_device(size_t n) {
  T *p = nullptr;
  CUDA_CALL(cudaMalloc(&p, n * sizeof(T)));
  return device_ptr<T>(p);
}
template <typename T>
pinned_ptr<T> alloc_pinned(size_t n) {
  T *p = nullptr;
  CUDA_CALL(cudaMallocHost(&p, n * sizeof(T)));
  return pinned_ptr<T>(p);
}
}  // namespace mm

class CUDAStream {
 public:
  static CUDAStream Create(bool non_blocking) {
    CUDAStream s;
    CUDA_CALL(cudaStreamCreateWithFlags(&s.s_, non_blocking ? cudaStreamNonBlocking : cudaStreamDefault));
    return s;
  }
  CUDAStream(CUDAStream &&o) noexcept : s_(o.s_) { o.s_ = nullptr; }
  ~CUDAStream() { if (s_) cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }
 private:
  CUDAStream() = default;
  cudaStream_t s_ = nullptr;
};

namespace kernels {

struct ResamplingFilter {
  float *coeffs = nullptr;
  int num_coeffs = 0;
  float anchor = 0, scale = 1;
};

constexpr int kTriangular = 3, kGaussian = 65, kLanczos3 = 257;

class ResamplingFilters {
 public:
  static std::shared_ptr<ResamplingFilters> Instance();

  ResamplingFilter Triangular() const { return {base_.get(), kTriangular, 1, 1}; }
  ResamplingFilter Gaussian() const { return {base_.get() + kTriangular, kGaussian, 32, 1 / 0.5f}; }
  ResamplingFilter Lanczos3() const {
    return {base_.get() + kTriangular + kGaussian, kLanczos3, 128, 128 / 3.f};
  }

 private:
  void InitFilters() {
    const int total = kTriangular + kGaussian + kLanczos3;
    host_ = mm::alloc_pinned<float>(total);
    float *f = host_.get();
    f[0] = 0; f[1] = 1; f[2] = 0;
    for (int i = 0; i < kGaussian; i++) {
      float x = 4.f * (i - (kGaussian - 1) * 0.5f) / (kGaussian - 1);
      f[kTriangular + i] = std::exp(-x * x);
    }
    for (int i = 0; i < kLanczos3; i++) {
      float x = 6.f * (i - (kLanczos3 - 1) * 0.5f) / (kLanczos3 - 1) * float(M_PI);
      f[kTriangular + kGaussian + i] = std::fabs(x) < 1e-5f ? 1.f : 3 * std::sin(x) * std::sin(x / 3) / (x * x);
    }
    base_ = mm::alloc_device<float>(total);
    auto stream = CUDAStream::Create(true);
    CUDA_CALL(cudaMemcpyAsync(base_.get(), f, total * sizeof(float), cudaMemcpyHostToDevice, stream));
    CUDA_CALL(cudaStreamSynchronize(stream));
  }
  mm::pinned_ptr<float> host_;
  mm::device_ptr<float> base_;
};

std::shared_ptr<ResamplingFilters> ResamplingFilters::Instance() {
  static std::mutex mtx;
  static std::shared_ptr<ResamplingFilters> instance;
  std::lock_guard<std::mutex> lock(mtx);
  if (!instance) {
    instance = std::make_shared<ResamplingFilters>();
    instance->InitFilters();
  }
  return instance;
}

__global__ void ResampleHorz(float *out, int out_w, const float *in, int in_w, int h, ResamplingFilter filter) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= out_w || y >= h) return;
  float src = (x + 0.5f) * in_w / out_w - 0.5f, sum = 0, norm = 0;
  for (int k = 0; k < filter.num_coeffs; k++) {
    int sx = min(max(int(src + (k - filter.anchor) / filter.scale), 0), in_w - 1);
    sum += in[y * in_w + sx] * filter.coeffs[k];
    norm += filter.coeffs[k];
  }
  out[y * out_w + x] = norm != 0 ? sum / norm : 0;
}

}  // namespace kernels

class Resize {
 public:
  Resize() : stream_(CUDAStream::Create(true)), filters_(kernels::ResamplingFilters::Instance()) {}

  void Run(float *out, int out_w, const float *in, int in_w, int h) {
    dim3 grid((out_w + 63) / 64, h);
    kernels::ResampleHorz<<<grid, 64, 0, stream_>>>(out, out_w, in, in_w, h, filters_->Lanczos3());
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaStreamSynchronize(stream_));
  }

 private:
  CUDAStream stream_;
  std::shared_ptr<kernels::ResamplingFilters> filters_;
};

}  // namespace dali

void ResizeRows(float *out, int out_w, const float *in, int in_w, int h) {
  dali::Resize resize;
  resize.Run(out, out_w, in, in_w, h);
}

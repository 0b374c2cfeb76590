// Separable resampling operators sharing one bank of filter coefficients.  Modelled on NVIDIA/DALI#4990.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_CALL(x)                                                                        \
  do {                                                                                      \
    cudaError_t e_ = (x);                                                                   \
    if (e_ != cudaSuccess) {                                                                \
      std::fprintf(stderr, "[%s:%d] %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));     \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

namespace dali {

struct HostDeleter { void operator()(void* p) const { cudaFreeHost(p); } };
struct DevDeleter { void operator()(void* p) const { cudaFree(p); } };
template <typename T> using pinned_ptr = std::unique_ptr<T[], HostDeleter>;
template <typename T> using dev_ptr = std::unique_ptr<T[], DevDeleter>;
template <typename T> pinned_ptr<T> make_pinned(size_t n) {
  T* p; CUDA_CALL(cudaMallocHost(&p, n * sizeof(T))); return pinned_ptr<T>(p);
}
template <typename T> dev_ptr<T> make_dev(size_t n) {
  T* p; CUDA_CALL(cudaMalloc(&p, n * sizeof(T))); return dev_ptr<T>(p);
}

constexpr int kPhases = 1 << 19, kSupport = 32;

// Polyphase bank: kPhases x kSupport coefficients, built on the CPU and uploaded at construction.
class ResamplingFilters {
 public:
  ResamplingFilters() : host_(make_pinned<float>(size())), dev_(make_dev<float>(size())) {
    float* h = host_.get();
    for (int p = 0; p < kPhases; ++p)
      for (int t = 0; t < kSupport; ++t)
        h[size_t(p) * kSupport + t] = 1.0f / (1 + std::abs(t - kSupport / 2) + p % 3);
    Upload();
  }
  const float* coeffs() const { return dev_.get(); }
  static size_t size() { return size_t(kPhases) * kSupport; }

 private:
  void Upload() {
#ifdef FIXED
    cudaStream_t s;
    CUDA_CALL(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA_CALL(cudaMemcpyAsync(dev_.get(), host_.get(), size() * sizeof(float), cudaMemcpyHostToDevice, s));
    CUDA_CALL(cudaStreamSynchronize(s));
    CUDA_CALL(cudaStreamDestroy(s));
#else
    CUDA_CALL(cudaMemcpyAsync(dev_.get(), host_.get(), size() * sizeof(float), cudaMemcpyHostToDevice, 0));
#endif
  }
  pinned_ptr<float> host_;
  dev_ptr<float> dev_;
};

__global__ void ResampleRows(float* out, const float* coeffs, int n, int scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* c = coeffs + size_t((unsigned(i) * unsigned(scale)) % kPhases) * kSupport;
  float acc = 0;
  for (int t = 0; t < kSupport; ++t) acc += c[t] * float((i + t) & 255);
  out[i] = acc;
}

class ResizeOp {
 public:
  ResizeOp(std::shared_ptr<ResamplingFilters> f, int n) : filters_(std::move(f)), n_(n), out_(make_dev<float>(n)) {
    CUDA_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~ResizeOp() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  void Run(int scale) {
    ResampleRows<<<(n_ + 255) / 256, 256, 0, stream_>>>(out_.get(), filters_->coeffs(), n_, scale);
    CUDA_CALL(cudaGetLastError());
  }
  float Fetch(int i) {
    float v;
    CUDA_CALL(cudaStreamSynchronize(stream_));
    CUDA_CALL(cudaMemcpy(&v, out_.get() + i, sizeof(float), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  std::shared_ptr<ResamplingFilters> filters_;
  int n_;
  dev_ptr<float> out_;
  cudaStream_t stream_{};
};

}  // namespace dali

int main() {
  using namespace dali;
  std::vector<float> got;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto filters = std::make_shared<ResamplingFilters>();
    ResizeOp w(filters, 1 << 18), h(filters, 1 << 17);
    w.Run(3);
    h.Run(5);
    got.push_back(w.Fetch(1000) + h.Fetch(999));
    CUDA_CALL(cudaDeviceSynchronize());
  }
  for (float v : got) std::printf("%f\n", v);
  return 0;
}

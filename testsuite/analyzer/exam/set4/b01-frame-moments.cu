// Per-frame intensity normalisation for the fluoroscopy preview path.
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fluoro {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define FL_CHECK(x) ::fluoro::check((x), #x)

template <typename T>
class DeviceSpan {
 public:
  explicit DeviceSpan(std::size_t n = 0) : n_(n) {
    if (n_) FL_CHECK(cudaMalloc(&p_, n_ * sizeof(T)));
  }
  ~DeviceSpan() { cudaFree(p_); }
  DeviceSpan(DeviceSpan&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  DeviceSpan& operator=(DeviceSpan&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(n_, o.n_);
    return *this;
  }
  T* get() const { return p_; }
  std::size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

class Lane {
 public:
  Lane() { FL_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Lane() { cudaStreamDestroy(s_); }
  Lane(const Lane&) = delete;
  cudaStream_t get() const { return s_; }
  void wait() const { FL_CHECK(cudaStreamSynchronize(s_)); }

 private:
  cudaStream_t s_{};
};

struct Moments {
  float sum, sumSq;
};
struct AddMoments {
  __host__ __device__ Moments operator()(const Moments& a, const Moments& b) const {
    return {a.sum + b.sum, a.sumSq + b.sumSq};
  }
};
struct ToMoments {
  __host__ __device__ Moments operator()(float v) const { return {v, v * v}; }
};

__global__ void flatField(const std::uint16_t* raw, const float* gain, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = gain[i] * raw[i];
}

__global__ void standardise(float* px, const Moments* m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float mean = m->sum / n;
  float var = m->sumSq / n - mean * mean;
  px[i] = (px[i] - mean) * rsqrtf(var + 1e-6f);
}

template <typename Pixel>
class MomentReducer {
 public:
  explicit MomentReducer(int n) : n_(n) {
    cub::DeviceReduce::TransformReduce(nullptr, bytes_, static_cast<const Pixel*>(nullptr),
                                       static_cast<Moments*>(nullptr), n_, AddMoments{}, ToMoments{}, Moments{0, 0});
    scratch_ = DeviceSpan<unsigned char>(bytes_);
  }

  void enqueue(const Pixel* px, Moments* out, cudaStream_t stream) {
    std::size_t bytes = bytes_;
    FL_CHECK(cub::DeviceReduce::TransformReduce(scratch_.get(), bytes, px, out, n_, AddMoments{}, ToMoments{},
                                                Moments{0, 0}));
  }

 private:
  int n_;
  std::size_t bytes_ = 0;
  DeviceSpan<unsigned char> scratch_;
};

class Normaliser {
 public:
  Normaliser(int n, const std::vector<float>& gain)
      : n_(n), gain_(n), raw_(n), px_(n), moments_(1), reducer_(n) {
    FL_CHECK(cudaMemcpyAsync(gain_.get(), gain.data(), n * sizeof(float), cudaMemcpyHostToDevice, lane_.get()));
    lane_.wait();
  }

  void frame(const std::uint16_t* pinnedRaw, float* pinnedOut) {
    cudaStream_t s = lane_.get();
    const int block = 256, grid = (n_ + block - 1) / block;
    FL_CHECK(cudaMemcpyAsync(raw_.get(), pinnedRaw, n_ * sizeof(std::uint16_t), cudaMemcpyHostToDevice, s));
    flatField<<<grid, block, 0, s>>>(raw_.get(), gain_.get(), px_.get(), n_);
    reducer_.enqueue(px_.get(), moments_.get(), s);
    standardise<<<grid, block, 0, s>>>(px_.get(), moments_.get(), n_);
    FL_CHECK(cudaGetLastError());
    FL_CHECK(cudaMemcpyAsync(pinnedOut, px_.get(), n_ * sizeof(float), cudaMemcpyDeviceToHost, s));
    lane_.wait();
  }

 private:
  int n_;
  Lane lane_;
  DeviceSpan<float> gain_;
  DeviceSpan<std::uint16_t> raw_;
  DeviceSpan<float> px_;
  DeviceSpan<Moments> moments_;
  MomentReducer<float> reducer_;
};

}  // namespace fluoro

int main() {
  const int n = 1024 * 1024;
  std::uint16_t* raw = nullptr;
  float* out = nullptr;
  FL_CHECK(cudaMallocHost(&raw, n * sizeof(std::uint16_t)));
  FL_CHECK(cudaMallocHost(&out, n * sizeof(float)));
  fluoro::Normaliser norm(n, std::vector<float>(n, 1.02f));
  double acc = 0;
  for (int f = 0; f < 60; ++f) {
    for (int i = 0; i < n; ++i) raw[i] = static_cast<std::uint16_t>((i * 31 + f) & 0x3fff);
    norm.frame(raw, out);
    acc += out[f];
  }
  std::printf("%g\n", acc);
  cudaFreeHost(raw);
  cudaFreeHost(out);
  return 0;
}

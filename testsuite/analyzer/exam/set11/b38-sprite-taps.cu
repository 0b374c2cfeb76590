// Separable resampling of terrain textures. The taps of the kernel sit in constant memory; several worker
// threads build the mip levels of different texture sets.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#define TEX_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr int kMaxTaps = 64;
__constant__ float dTaps[kMaxTaps];

__global__ void filterRows(const float* in, float* out, int width, int rows, int taps) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= rows) return;
  float s = 0.f;
  for (int t = 0; t < taps; ++t) {
    int sx = min(max(x + t - taps / 2, 0), width - 1);
    s += dTaps[t] * in[y * width + sx];
  }
  out[y * width + x] = s;
}

__global__ void filterColumns(const float* in, float* out, int width, int rows, int taps) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= rows) return;
  float s = 0.f;
  for (int t = 0; t < taps; ++t) {
    int sy = min(max(y + t - taps / 2, 0), rows - 1);
    s += dTaps[t] * in[sy * width + x];
  }
  out[y * width + x] = s;
}

class TapTable {
 public:
  explicit TapTable(float sigma) {
    count_ = static_cast<int>(std::ceil(3.f * sigma)) * 2 + 1;
    if (count_ > kMaxTaps) std::abort();
    TEX_CHECK(cudaMallocHost(reinterpret_cast<void**>(&taps_), kMaxTaps * sizeof(float)));
    float sum = 0.f;
    for (int i = 0; i < count_; ++i) {
      float d = static_cast<float>(i - count_ / 2);
      sum += taps_[i] = std::exp(-d * d / (2.f * sigma * sigma));
    }
    for (int i = 0; i < count_; ++i) taps_[i] /= sum;
  }
  TapTable(const TapTable&) = delete;
  ~TapTable() { cudaFreeHost(taps_); }
  void install(cudaStream_t stream) const {
    TEX_CHECK(cudaMemcpyToSymbolAsync(dTaps, taps_, count_ * sizeof(float), 0, cudaMemcpyHostToDevice, stream));
  }
  int count() const { return count_; }

 private:
  float* taps_ = nullptr;
  int count_ = 0;
};

// Owns its stream and its temporary image, so that filters do not get into each other's way.
class GaussianFilter {
 public:
  GaussianFilter(int width, int rows, float sigma) : width_(width), rows_(rows), taps_(sigma) {
    TEX_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TEX_CHECK(cudaMalloc(reinterpret_cast<void**>(&temp_), bytes()));
  }
  GaussianFilter(const GaussianFilter&) = delete;
  ~GaussianFilter() {
    cudaStreamSynchronize(stream_);
    cudaFree(temp_);
    cudaStreamDestroy(stream_);
  }

  void apply(float* image) {
    dim3 grid((width_ + 127) / 128, rows_);
    taps_.install(stream_);
    filterRows<<<grid, 128, 0, stream_>>>(image, temp_, width_, rows_, taps_.count());
    filterColumns<<<grid, 128, 0, stream_>>>(temp_, image, width_, rows_, taps_.count());
    TEX_CHECK(cudaGetLastError());
  }

  void wait() { TEX_CHECK(cudaStreamSynchronize(stream_)); }
  std::size_t bytes() const { return static_cast<std::size_t>(width_) * rows_ * sizeof(float); }

 private:
  int width_, rows_;
  TapTable taps_;
  cudaStream_t stream_ = nullptr;
  float* temp_ = nullptr;
};

void buildLevels(std::vector<float*> images, int size, float sigma) {
  GaussianFilter filter(size, size, sigma);
  for (float* image : images) filter.apply(image);
  filter.wait();
}

int main() {
  constexpr int kSize = 1024, kPerSet = 16;
  const float sigmas[] = {0.8f, 1.6f, 3.2f};
  std::vector<std::vector<float*>> sets(3);
  for (auto& set : sets) {
    for (int i = 0; i < kPerSet; ++i) {
      float* p = nullptr;
      TEX_CHECK(cudaMalloc(reinterpret_cast<void**>(&p), sizeof(float) * kSize * kSize));
      TEX_CHECK(cudaMemset(p, 0, sizeof(float) * kSize * kSize));
      set.push_back(p);
    }
  }
  TEX_CHECK(cudaDeviceSynchronize());
  std::vector<std::thread> workers;
  for (int s = 0; s < 3; ++s) workers.emplace_back(buildLevels, sets[s], kSize, sigmas[s]);
  for (std::thread& w : workers) w.join();
  for (auto& set : sets)
    for (float* p : set) cudaFree(p);
  std::puts("mip levels done");
}

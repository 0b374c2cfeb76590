// Parametric equaliser. Small parameter blocks are written into a device-side
// table with batched copies, any number of them in one driver call.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace eq {

#define EQ_CHECK(x)                                                                 \
  do {                                                                              \
    cudaError_t r = (x);                                                            \
    if (r != cudaSuccess) {                                                         \
      std::fprintf(stderr, "eq: %s (%s:%d)\n", cudaGetErrorString(r), __FILE__, __LINE__); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

struct Biquad { float b0, b1, b2, a1, a2; };

__global__ void runBank(const Biquad* bank, const float* masterGain, int bands, const float* in,
                        float* out, int channels, int frames) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  const float* x = in + c * frames;
  float* y = out + c * frames;
  for (int t = 0; t < frames; ++t) y[t] = x[t];
  for (int b = 0; b < bands; ++b) {
    Biquad q = bank[b];
    float z1 = 0.f, z2 = 0.f;
    for (int t = 0; t < frames; ++t) {
      float v = q.b0 * y[t] + z1;
      z1 = q.b1 * y[t] - q.a1 * v + z2;
      z2 = q.b2 * y[t] - q.a2 * v;
      y[t] = v;
    }
  }
  for (int t = 0; t < frames; ++t) y[t] *= *masterGain;
}

// Collects small host-to-device writes and issues them as one batch.
class WriteBatch {
 public:
  void add(void* dst, const void* src, std::size_t bytes) {
    dst_.push_back(dst);
    src_.push_back(src);
    size_.push_back(bytes);
  }

  void submit(cudaStream_t stream) {
    if (dst_.empty()) return;
    cudaMemcpyAttributes attr{};
    attr.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    std::size_t first = 0;
    EQ_CHECK(cudaMemcpyBatchAsync(dst_.data(), src_.data(), size_.data(), dst_.size(), &attr, &first, 1,
                                  stream));
    dst_.clear();
    src_.clear();
    size_.clear();
  }

 private:
  std::vector<void*> dst_;
  std::vector<const void*> src_;
  std::vector<std::size_t> size_;
};

Biquad peaking(float freq, float gainDb, float q, float rate) {
  const float a = std::pow(10.f, gainDb / 40.f), w = 2.f * 3.14159265f * freq / rate;
  const float alpha = std::sin(w) / (2.f * q), n = 1.f / (1.f + alpha / a);
  return {(1.f + alpha * a) * n, -2.f * std::cos(w) * n, (1.f - alpha * a) * n, -2.f * std::cos(w) * n,
          (1.f - alpha / a) * n};
}

struct BandSetting { int index; float freq, gainDb, q; };

class Equaliser {
 public:
  Equaliser(int bands, float rate) : bands_(bands), rate_(rate) {
    EQ_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    EQ_CHECK(cudaMalloc(reinterpret_cast<void**>(&bank_), bands * sizeof(Biquad)));
    EQ_CHECK(cudaMalloc(reinterpret_cast<void**>(&gain_), sizeof(float)));
    std::vector<BandSetting> flat;
    for (int b = 0; b < bands; ++b) flat.push_back({b, 1000.f, 0.f, 1.f});
    configure(flat, 0.f);
    EQ_CHECK(cudaStreamSynchronize(stream_));
  }
  ~Equaliser() {
    cudaStreamSynchronize(stream_);
    cudaFree(bank_);
    cudaFree(gain_);
    cudaStreamDestroy(stream_);
  }
  Equaliser(const Equaliser&) = delete;
  Equaliser& operator=(const Equaliser&) = delete;

  // Takes effect for blocks that are processed later. Never waits for the device.
  void configure(const std::vector<BandSetting>& settings, float masterDb) {
    std::vector<Biquad> coeffs;
    coeffs.reserve(settings.size());
    for (const BandSetting& s : settings) {
      coeffs.push_back(peaking(s.freq, s.gainDb, s.q, rate_));
      batch_.add(bank_ + s.index, &coeffs.back(), sizeof(Biquad));
    }
    const float linear = std::pow(10.f, masterDb / 20.f);
    batch_.add(gain_, &linear, sizeof(linear));
    batch_.submit(stream_);
  }

  void process(const float* in, float* out, int channels, int frames) {
    runBank<<<(channels + 63) / 64, 64, 0, stream_>>>(bank_, gain_, bands_, in, out, channels, frames);
    EQ_CHECK(cudaGetLastError());
  }

  cudaStream_t stream() const { return stream_; }

 private:
  int bands_;
  float rate_;
  cudaStream_t stream_ = nullptr;
  Biquad* bank_ = nullptr;
  float* gain_ = nullptr;
  WriteBatch batch_;
};

}  // namespace eq

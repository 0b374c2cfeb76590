// FIR equaliser bank. Every channel has its own taps.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace eq {

void gpu(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define GPU(x) ::eq::gpu((x), __LINE__)

constexpr int kTaps = 63;
struct Taps {
  float h[kTaps];
};

__constant__ Taps g_taps;

__global__ void convolve(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int k = 0; k < kTaps; ++k) acc += g_taps.h[k] * (i >= k ? in[i - k] : 0.f);
  out[i] = acc;
}

Taps band(float centre, float gain_db) {
  Taps t{};
  const float g = std::pow(10.f, gain_db / 20.f) - 1.f;
  for (int k = 0; k < kTaps; ++k) {
    float w = 0.5f - 0.5f * std::cos(6.2831853f * k / (kTaps - 1));
    t.h[k] = g * w * std::cos(centre * (k - kTaps / 2)) / kTaps;
  }
  t.h[kTaps / 2] += 1.f;
  return t;
}

template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(size_t n) { GPU(cudaMallocHost(&p_, n * sizeof(T))); }
  ~PinnedArray() { cudaFreeHost(p_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* get() const { return p_; }

 private:
  T* p_ = nullptr;
};

// An equaliser owns its stream and its buffers and is used by one thread.
class Equaliser {
 public:
  Equaliser(const Taps& taps, int block) : block_(block), taps_(1), in_(block), out_(block) {
    *taps_.get() = taps;
    GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU(cudaMalloc(&d_in_, block_ * sizeof(float)));
    GPU(cudaMalloc(&d_out_, block_ * sizeof(float)));
  }
  ~Equaliser() {
    cudaStreamSynchronize(stream_);
    cudaFree(d_out_);
    cudaFree(d_in_);
    cudaStreamDestroy(stream_);
  }
  Equaliser(const Equaliser&) = delete;
  Equaliser& operator=(const Equaliser&) = delete;

  void process(const float* in, float* out) {
    std::memcpy(in_.get(), in, block_ * sizeof(float));
    GPU(cudaMemcpyAsync(d_in_, in_.get(), block_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    filter();
    GPU(cudaMemcpyAsync(out_.get(), d_out_, block_ * sizeof(float), cudaMemcpyDeviceToHost,
                        stream_));
    GPU(cudaStreamSynchronize(stream_));
    std::memcpy(out, out_.get(), block_ * sizeof(float));
  }

 private:
  void filter() {
    GPU(cudaMemcpyToSymbolAsync(g_taps, taps_.get(), sizeof(Taps), 0, cudaMemcpyHostToDevice,
                                stream_));
    convolve<<<(block_ + 127) / 128, 128, 0, stream_>>>(d_in_, d_out_, block_);
    GPU(cudaGetLastError());
  }

  int block_;
  cudaStream_t stream_{};
  PinnedArray<Taps> taps_;
  PinnedArray<float> in_, out_;
  float *d_in_ = nullptr, *d_out_ = nullptr;
};

void play_channel(int channel, int blocks, float* sum) {
  constexpr int kBlock = 1 << 16;
  Equaliser equaliser(band(0.1f + 0.2f * channel, channel % 2 ? 3.f : -3.f), kBlock);
  std::vector<float> in(kBlock), out(kBlock);
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < kBlock; ++i) in[i] = std::sin(0.01f * (i + b * kBlock));
    equaliser.process(in.data(), out.data());
    for (float v : out) *sum += v;
  }
}

}  // namespace eq

int main() {
  std::array<float, 8> sum{};
  std::vector<std::thread> channels;
  for (int c = 0; c < 8; ++c) channels.emplace_back(eq::play_channel, c, 100, &sum[c]);
  for (std::thread& t : channels) t.join();
  for (float s : sum) std::printf("%g\n", s);
  return 0;
}

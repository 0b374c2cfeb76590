// fir-bank: runs a bank of FIR band filters over microphone channels, one
// worker stream per band. Prints the energy that each band passes.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CK(call)                                                                  \
  do {                                                                            \
    cudaError_t rc_ = (call);                                                     \
    if (rc_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

constexpr int kTaps = 2048;
constexpr int kSamples = 1 << 20;
constexpr int kBands = 4;

__global__ void convolve(const float* signal, const float* taps, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < kTaps && t <= i; ++t) acc += taps[t] * signal[i - t];
  out[i] = acc;
}

__global__ void band_energy(const float* out, float* energy, int n) {
  float acc = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc += out[i] * out[i];
  atomicAdd(energy, acc);
}

// Windowed-sinc low pass, designed on the host in a pinned buffer.
class TapTable {
 public:
  TapTable(float cutoff) {
    CK(cudaMallocHost(&host_, kTaps * sizeof(float)));
    CK(cudaMalloc(&device_, kTaps * sizeof(float)));
    const float pi = 3.14159265f;
    for (int t = 0; t < kTaps; ++t) {
      const float x = static_cast<float>(t) - kTaps / 2;
      const float sinc = x == 0.f ? 2.f * cutoff : std::sin(2.f * pi * cutoff * x) / (pi * x);
      host_[t] = sinc * (0.54f - 0.46f * std::cos(2.f * pi * t / (kTaps - 1)));
    }
  }
  ~TapTable() {
    CK(cudaDeviceSynchronize());
    CK(cudaFree(device_));
    CK(cudaFreeHost(host_));
  }
  void upload(cudaStream_t stream = nullptr) {
    CK(cudaMemcpyAsync(device_, host_, kTaps * sizeof(float), cudaMemcpyHostToDevice, stream));
  }
  const float* data() const { return device_; }

 private:
  float* host_ = nullptr;
  float* device_ = nullptr;
};

struct Band {
  std::unique_ptr<TapTable> taps;
  cudaStream_t stream = nullptr;
  float* out = nullptr;
  float* energy = nullptr;
};

Band open_band(float cutoff) {
  Band b;
  CK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  CK(cudaMalloc(&b.out, kSamples * sizeof(float)));
  CK(cudaMalloc(&b.energy, sizeof(float)));
  b.taps = std::make_unique<TapTable>(cutoff);
  b.taps->upload(b.stream);
  return b;
}

void run_band(const Band& b, const float* signal) {
  CK(cudaMemsetAsync(b.energy, 0, sizeof(float), b.stream));
  convolve<<<kSamples / 256, 256, 0, b.stream>>>(signal, b.taps->data(), b.out, kSamples);
  band_energy<<<64, 256, 0, b.stream>>>(b.out, b.energy, kSamples);
  CK(cudaGetLastError());
}

float close_band(Band& b) {
  float energy = 0.f;
  CK(cudaMemcpyAsync(&energy, b.energy, sizeof(float), cudaMemcpyDeviceToHost, b.stream));
  CK(cudaStreamSynchronize(b.stream));
  CK(cudaFree(b.out));
  CK(cudaFree(b.energy));
  CK(cudaStreamDestroy(b.stream));
  b.taps.reset();
  return energy;
}

int main() {
  std::vector<float> noise(kSamples);
  unsigned state = 12345;
  for (float& s : noise) {
    state = state * 1664525u + 1013904223u;
    s = static_cast<float>(state >> 9) / 4194304.f - 1.f;
  }
  float* signal = nullptr;
  CK(cudaMalloc(&signal, kSamples * sizeof(float)));
  CK(cudaMemcpy(signal, noise.data(), kSamples * sizeof(float), cudaMemcpyHostToDevice));
  CK(cudaDeviceSynchronize());

  std::vector<Band> bands;
  for (int i = 0; i < kBands; ++i) {
    bands.push_back(open_band(0.05f * static_cast<float>(i + 1)));
    run_band(bands.back(), signal);
  }
  for (int i = 0; i < kBands; ++i) std::printf("band %d: %g\n", i, static_cast<double>(close_band(bands[i])));
  CK(cudaFree(signal));
  return 0;
}

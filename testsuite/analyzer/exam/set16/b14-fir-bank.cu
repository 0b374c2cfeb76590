// FIR filter bank: each channel strip owns a stream and a set of taps and filters its own blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define DSP_CHECK(x)                                                                                 \
  do {                                                                                               \
    cudaError_t e_ = (x);                                                                            \
    if (e_ != cudaSuccess) throw std::runtime_error(std::string(#x) + " " + cudaGetErrorString(e_)); \
  } while (0)

constexpr int kMaxTaps = 64;

struct Taps {
  float h[kMaxTaps];
  int count;
};

__constant__ Taps cTaps;

__global__ void fir(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int k = 0; k < cTaps.count; ++k)
    if (i >= k) acc += cTaps.h[k] * in[i - k];
  out[i] = acc;
}

class ChannelStrip {
 public:
  ChannelStrip(const std::vector<float>& response, int blockSize) : blockSize_(blockSize) {
    DSP_CHECK(cudaMallocHost(&taps_, sizeof(Taps)));
    taps_->count = static_cast<int>(std::min<size_t>(response.size(), kMaxTaps));
    std::copy_n(response.begin(), taps_->count, taps_->h);
    DSP_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DSP_CHECK(cudaMalloc(&in_, sizeof(float) * blockSize_));
    DSP_CHECK(cudaMalloc(&out_, sizeof(float) * blockSize_));
    DSP_CHECK(cudaMemsetAsync(in_, 0, sizeof(float) * blockSize_, stream_));
  }
  ~ChannelStrip() {
    cudaStreamSynchronize(stream_);
    cudaFree(in_);
    cudaFree(out_);
    cudaFreeHost(taps_);
    cudaStreamDestroy(stream_);
  }
  ChannelStrip(const ChannelStrip&) = delete;
  ChannelStrip& operator=(const ChannelStrip&) = delete;

  void process() {
    selectTaps();
    run();
    std::swap(in_, out_);
  }

  float firstSample() {
    float v = 0.f;
    DSP_CHECK(cudaMemcpyAsync(&v, in_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    DSP_CHECK(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  void selectTaps() {
    DSP_CHECK(cudaMemcpyToSymbolAsync(cTaps, taps_, sizeof(Taps), 0, cudaMemcpyHostToDevice, stream_));
  }

  void run() {
    fir<<<(blockSize_ + 255) / 256, 256, 0, stream_>>>(in_, out_, blockSize_);
    DSP_CHECK(cudaGetLastError());
  }

  int blockSize_;
  Taps* taps_ = nullptr;
  cudaStream_t stream_{};
  float *in_ = nullptr, *out_ = nullptr;
};

class FilterBank {
 public:
  FilterBank(int strips, int blockSize) {
    for (int s = 0; s < strips; ++s) {
      std::vector<float> response(8 + 4 * s, 1.f / (8 + 4 * s));
      strips_.push_back(std::make_unique<ChannelStrip>(response, blockSize));
    }
  }

  void tick() {
    for (auto& s : strips_) s->process();
  }

  void print() {
    for (auto& s : strips_) std::printf("%g ", s->firstSample());
    std::printf("\n");
  }

 private:
  std::vector<std::unique_ptr<ChannelStrip>> strips_;
};

int main() {
  FilterBank bank(8, 48000);
  for (int block = 0; block < 1000; ++block) bank.tick();
  bank.print();
  return 0;
}

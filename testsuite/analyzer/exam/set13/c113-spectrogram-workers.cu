// Spectrograms of field recordings are prepared by worker threads; the main thread
// classifies them. Every thread uses its own default stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace birds {

inline void good(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kFrames = 4096;
constexpr int kBins = 256;

__global__ void spectrogram(float* out, int frames, int bins, float pitch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frames * bins) return;
  const int bin = i % bins;
  float re = 0.f, im = 0.f;
  for (int t = 0; t < 64; ++t) {
    const float s = sinf(pitch * (i / bins + t));
    re += s * cosf(0.0981748f * bin * t);
    im += s * sinf(0.0981748f * bin * t);
  }
  out[i] = re * re + im * im;
}

__global__ void classify(const float* spec, int frames, int bins, float* score) {
  __shared__ float part[256];
  float sum = 0.f;
  for (int i = threadIdx.x; i < frames * bins; i += blockDim.x) sum += spec[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *score = part[0];
}

class Spectrogram {
 public:
  Spectrogram() {
    good(cudaMalloc(&data_, sizeof(float) * kFrames * kBins));
    good(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~Spectrogram() {
    cudaEventDestroy(ready_);
    cudaFree(data_);
  }
  Spectrogram(const Spectrogram&) = delete;
  Spectrogram& operator=(const Spectrogram&) = delete;

  float* data() { return data_; }
  void finishedIn(cudaStream_t producer) { good(cudaEventRecord(ready_, producer)); }
  const float* neededIn(cudaStream_t consumer) const {
    good(cudaStreamWaitEvent(consumer, ready_, 0));
    return data_;
  }

 private:
  float* data_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

using SpectrogramPtr = std::unique_ptr<Spectrogram>;

SpectrogramPtr prepare(float pitch) {
  auto spec = std::make_unique<Spectrogram>();
  const int n = kFrames * kBins;
  spectrogram<<<(n + 255) / 256, 256, 0, cudaStreamPerThread>>>(spec->data(), kFrames, kBins, pitch);
  good(cudaGetLastError());
  spec->finishedIn(cudaStreamPerThread);
  return spec;
}

class Classifier {
 public:
  Classifier() {
    good(cudaMalloc(&device_, sizeof(float)));
    good(cudaMallocHost(&host_, sizeof(float)));
  }
  ~Classifier() {
    cudaFreeHost(host_);
    cudaFree(device_);
  }
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

  float operator()(const Spectrogram& spec) {
    const float* data = spec.neededIn(cudaStreamPerThread);
    classify<<<1, 256, 0, cudaStreamPerThread>>>(data, kFrames, kBins, device_);
    good(cudaGetLastError());
    good(cudaMemcpyAsync(host_, device_, sizeof(float), cudaMemcpyDeviceToHost, cudaStreamPerThread));
    good(cudaStreamSynchronize(cudaStreamPerThread));
    return *host_;
  }

 private:
  float* device_ = nullptr;
  float* host_ = nullptr;
};

}  // namespace birds

int main() {
  std::vector<std::future<birds::SpectrogramPtr>> recordings;
  for (int r = 0; r < 8; ++r)
    recordings.push_back(std::async(std::launch::async, birds::prepare, 0.05f * (r + 1)));

  birds::Classifier classifier;
  float total = 0.f;
  for (auto& recording : recordings) {
    const birds::SpectrogramPtr spec = recording.get();
    total += classifier(*spec);
  }
  std::printf("total score %g\n", total);
}

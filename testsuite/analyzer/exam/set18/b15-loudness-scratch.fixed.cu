// Loudness metering. Reductions need a scratch array for the partial sums; it
// is cached, because allocating in the audio path would stall.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#define METER_OK(e)                                                       \
  do {                                                                    \
    if (cudaError_t r_ = (e); r_ != cudaSuccess) {                        \
      std::fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(r_), __LINE__); \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

__global__ void partialEnergy(const float* x, int n, float* partial) {
  __shared__ float warpSum[8];
  float acc = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc += x[i] * x[i];
  for (int d = 16; d > 0; d /= 2) acc += __shfl_down_sync(0xffffffffu, acc, d);
  if (threadIdx.x % 32 == 0) warpSum[threadIdx.x / 32] = acc;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int w = 0; w < 8; ++w) total += warpSum[w];
    partial[blockIdx.x] = total;
  }
}

__global__ void sumPartials(const float* partial, int blocks, int n, float* rms) {
  float acc = 0.0f;
  for (int i = threadIdx.x; i < blocks; i += 32) acc += partial[i];
  for (int d = 16; d > 0; d /= 2) acc += __shfl_down_sync(0xffffffffu, acc, d);
  if (threadIdx.x == 0) *rms = sqrtf(acc / n);
}

// Scratch arrays by device and length. Entries are kept for the whole process.
class ScratchCache {
 public:
  static ScratchCache& get() {
    static ScratchCache cache;
    return cache;
  }

  float* floats(size_t count, cudaStream_t stream) {
    int device = 0;
    METER_OK(cudaGetDevice(&device));
    std::lock_guard<std::mutex> lock(mutex_);
    float*& p = entries_[Key(std::make_pair(device, stream), count)];
    if (!p) METER_OK(cudaMalloc(&p, sizeof(float) * count));
    return p;
  }

 private:
  using Key = std::pair<std::pair<int, cudaStream_t>, size_t>;
  std::mutex mutex_;
  std::map<Key, float*> entries_;
};

// Root mean square of n device samples; the result stays on the device.
void enqueueRms(const float* x, int n, float* rms, cudaStream_t stream) {
  constexpr int kBlocks = 96;
  float* partial = ScratchCache::get().floats(kBlocks, stream);
  partialEnergy<<<kBlocks, 256, 0, stream>>>(x, n, partial);
  METER_OK(cudaGetLastError());
  sumPartials<<<1, 32, 0, stream>>>(partial, kBlocks, n, rms);
  METER_OK(cudaGetLastError());
}

class StereoMeter {
 public:
  StereoMeter() {
    for (int c = 0; c < 2; ++c) METER_OK(cudaStreamCreateWithFlags(&stream_[c], cudaStreamNonBlocking));
    METER_OK(cudaMalloc(&rms_, 2 * sizeof(float)));
    METER_OK(cudaMallocHost(&host_, 2 * sizeof(float)));
  }
  ~StereoMeter() {
    for (auto s : stream_) cudaStreamSynchronize(s);
    cudaFreeHost(host_);
    cudaFree(rms_);
    for (auto s : stream_) cudaStreamDestroy(s);
  }
  StereoMeter(const StereoMeter&) = delete;
  StereoMeter& operator=(const StereoMeter&) = delete;

  // Channels are complete on the device; returns the level of both in dBFS.
  std::pair<float, float> measure(const float* left, const float* right, int n) {
    const float* channel[2] = {left, right};
    for (int c = 0; c < 2; ++c) {
      enqueueRms(channel[c], n, rms_ + c, stream_[c]);
      METER_OK(cudaMemcpyAsync(host_ + c, rms_ + c, sizeof(float), cudaMemcpyDeviceToHost, stream_[c]));
    }
    for (auto s : stream_) METER_OK(cudaStreamSynchronize(s));
    return {20.0f * std::log10(host_[0] + 1e-9f), 20.0f * std::log10(host_[1] + 1e-9f)};
  }

 private:
  cudaStream_t stream_[2] = {};
  float* rms_ = nullptr;
  float* host_ = nullptr;
};

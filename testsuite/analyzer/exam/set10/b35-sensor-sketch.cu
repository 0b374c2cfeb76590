// Builds quantile sketches of machine-sensor channels, one worker thread per group of
// channels. Every thread works on its own per-thread default stream.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#define SK_CHECK(call)                                                             \
  do {                                                                             \
    const cudaError_t sk_rc = (call);                                              \
    if (sk_rc != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(sk_rc));          \
      std::exit(EXIT_FAILURE);                                                     \
    }                                                                              \
  } while (0)

namespace sketch {

constexpr int kBuckets = 256;

__global__ void histogram(const float* __restrict__ samples, int n, float lo, float hi,
                          unsigned* __restrict__ counts) {
  __shared__ unsigned local[kBuckets];
  for (int b = threadIdx.x; b < kBuckets; b += blockDim.x) local[b] = 0;
  __syncthreads();
  const float scale = kBuckets / (hi - lo);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int b = static_cast<int>((samples[i] - lo) * scale);
    atomicAdd(&local[min(max(b, 0), kBuckets - 1)], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBuckets; b += blockDim.x) atomicAdd(&counts[b], local[b]);
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t n) : n_(n) { SK_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return p_; }
  std::size_t bytes() const { return n_ * sizeof(T); }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

// Stream on which the calling thread queues its work.
inline cudaStream_t my_stream() { return cudaStreamPerThread; }

class SketchBuilder {
 public:
  SketchBuilder(int channels, int samples, float lo, float hi)
      : channels_(channels),
        samples_(samples),
        lo_(lo),
        hi_(hi),
        data_(static_cast<std::size_t>(channels) * samples),
        counts_(static_cast<std::size_t>(channels) * kBuckets) {
    SK_CHECK(cudaMemsetAsync(counts_.get(), 0, counts_.bytes(), my_stream()));
    SK_CHECK(cudaStreamSynchronize(my_stream()));
  }

  // Sketches all channels of `host` (page-locked, channel-major) with `workers` threads.
  void build(const float* host, int workers) {
    std::vector<std::thread> pool;
    const int per_worker = (channels_ + workers - 1) / workers;
    for (int w = 0; w < workers; ++w) {
      const int first = w * per_worker;
      const int last = std::min(channels_, first + per_worker);
      pool.emplace_back(&SketchBuilder::work, this, host, first, last);
    }
    for (auto& t : pool) t.join();
  }

  // Bucket counts of one channel.
  std::vector<unsigned> counts(int channel) const {
    std::vector<unsigned> out(kBuckets);
    SK_CHECK(cudaMemcpyAsync(out.data(), counts_.get() + channel * kBuckets,
                             kBuckets * sizeof(unsigned), cudaMemcpyDeviceToHost, my_stream()));
    SK_CHECK(cudaStreamSynchronize(my_stream()));
    return out;
  }

  float quantile(int channel, double q) const {
    const std::vector<unsigned> c = counts(channel);
    const double target = q * std::accumulate(c.begin(), c.end(), 0.0);
    double seen = 0.0;
    for (int b = 0; b < kBuckets; ++b) {
      seen += c[b];
      if (seen >= target) return lo_ + (b + 0.5f) * (hi_ - lo_) / kBuckets;
    }
    return hi_;
  }

 private:
  void work(const float* host, int first, int last) {
    SK_CHECK(cudaSetDevice(0));
    for (int c = first; c < last; ++c) upload_and_count(host, c);
  }

  void upload_and_count(const float* host, int channel) {
    const std::size_t at = static_cast<std::size_t>(channel) * samples_;
    SK_CHECK(cudaMemcpyAsync(data_.get() + at, host + at, samples_ * sizeof(float),
                             cudaMemcpyHostToDevice, my_stream()));
    histogram<<<32, 256, 0, my_stream()>>>(data_.get() + at, samples_, lo_, hi_,
                                           counts_.get() + channel * kBuckets);
    SK_CHECK(cudaGetLastError());
  }

  int channels_;
  int samples_;
  float lo_, hi_;
  DeviceArray<float> data_;
  DeviceArray<unsigned> counts_;
};

}  // namespace sketch

int main() {
  constexpr int channels = 24, samples = 1 << 18;
  float* host = nullptr;
  SK_CHECK(cudaMallocHost(&host, sizeof(float) * channels * samples));
  std::mt19937 rng(12);
  std::normal_distribution<float> noise(0.f, 1.f);
  for (int i = 0; i < channels * samples; ++i) host[i] = noise(rng);
  {
    sketch::SketchBuilder builder(channels, samples, -4.f, 4.f);
    builder.build(host, 4);
    for (int c = 0; c < channels; ++c)
      std::printf("channel %2d: p50 %+.3f  p99 %+.3f\n", c, builder.quantile(c, 0.5),
                  builder.quantile(c, 0.99));
  }
  SK_CHECK(cudaDeviceSynchronize());
  SK_CHECK(cudaFreeHost(host));
}

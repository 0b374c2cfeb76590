// Bucketed interest-rate exposure: scenarios are generated on one stream and
// aggregated on another one.  All device memory is stream ordered.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void die(cudaError_t err, const char* expr, int line) {
  std::fprintf(stderr, "line %d: %s failed: %s\n", line, expr, cudaGetErrorString(err));
  std::abort();
}
#define RT(expr)                                         \
  do {                                                   \
    cudaError_t err_ = (expr);                           \
    if (err_ != cudaSuccess) die(err_, #expr, __LINE__); \
  } while (0)

class Stream {
 public:
  Stream() { RT(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() {
    RT(cudaStreamSynchronize(s_));
    RT(cudaStreamDestroy(s_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return s_; }
  void sync() const { RT(cudaStreamSynchronize(s_)); }

  void follow(const Stream& other) {
    cudaEvent_t e;
    RT(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    RT(cudaEventRecord(e, other.s_));
    RT(cudaStreamWaitEvent(s_, e, 0));
    RT(cudaEventDestroy(e));
  }

 private:
  cudaStream_t s_ = nullptr;
};

// Device array with a home stream.  The home may move to the last user.
template <class T>
class DeviceVector {
 public:
  DeviceVector(size_t n, const Stream& s) : n_(n), home_(s.get()) {
    RT(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), home_));
  }
  DeviceVector(DeviceVector&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_), home_(o.home_) {}
  DeviceVector& operator=(DeviceVector&&) = delete;
  ~DeviceVector() {
    if (p_ != nullptr) RT(cudaFreeAsync(p_, home_));
  }
  T* get() const { return p_; }
  size_t size() const { return n_; }
  size_t bytes() const { return n_ * sizeof(T); }

  // From now on `s` owns the array; `s` must already be ordered after the old home.
  void rehome(const Stream& s) { home_ = s.get(); }

 private:
  T* p_ = nullptr;
  size_t n_;
  cudaStream_t home_;
};

__global__ void shift_rates(const float* base, float* rates, int n, int scenario) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rates[i] = base[i] * (1.0f + 1e-4f * __sinf(0.7f * i + scenario));
}

__global__ void accumulate(const float* rates, int n, double* ladder, int buckets) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&ladder[i % buckets], static_cast<double>(rates[i]));
}

constexpr int kRates = 1 << 18;
constexpr int kBuckets = 12;

DeviceVector<float> scenario_rates(const Stream& generator, const DeviceVector<float>& base, int scenario) {
  DeviceVector<float> rates(kRates, generator);
  shift_rates<<<(kRates + 255) / 256, 256, 0, generator.get()>>>(base.get(), rates.get(), kRates, scenario);
  RT(cudaGetLastError());
  return rates;
}

void add_scenario(Stream& generator, Stream& aggregator, const DeviceVector<float>& base, DeviceVector<double>& ladder,
                  int scenario) {
  DeviceVector<float> rates = scenario_rates(generator, base, scenario);
  aggregator.follow(generator);
  rates.rehome(aggregator);
  accumulate<<<(kRates + 255) / 256, 256, 0, aggregator.get()>>>(rates.get(), kRates, ladder.get(), kBuckets);
  RT(cudaGetLastError());
}

int main() {
  std::vector<float> host_base(kRates);
  for (int i = 0; i < kRates; ++i) host_base[i] = 0.01f + 1e-7f * i;
  std::vector<double> host_ladder(kBuckets);

  Stream generator, aggregator;
  {
    DeviceVector<float> base(kRates, generator);
    DeviceVector<double> ladder(kBuckets, aggregator);
    RT(cudaMemcpyAsync(base.get(), host_base.data(), base.bytes(), cudaMemcpyHostToDevice, generator.get()));
    RT(cudaMemsetAsync(ladder.get(), 0, ladder.bytes(), aggregator.get()));
    for (int s = 0; s < 256; ++s) add_scenario(generator, aggregator, base, ladder, s);
    RT(cudaMemcpyAsync(host_ladder.data(), ladder.get(), ladder.bytes(), cudaMemcpyDeviceToHost, aggregator.get()));
    aggregator.sync();
  }
  for (int b = 0; b < kBuckets; ++b) std::printf("bucket %2d: %.6f\n", b, host_ladder[b]);
  return 0;
}

// Bootstraps discount curves for several currencies and revalues swaps on them.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

static void die(cudaError_t err, const char* expr, int line) {
  std::fprintf(stderr, "line %d: %s failed: %s\n", line, expr, cudaGetErrorString(err));
  std::abort();
}
#define RT(expr)                                          \
  do {                                                    \
    cudaError_t err_ = (expr);                            \
    if (err_ != cudaSuccess) die(err_, #expr, __LINE__);  \
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

  // Everything queued here from now on runs after what `other` has queued.
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

// Owning device array, allocated and released in the order of one stream.
template <class T>
class DeviceVector {
 public:
  DeviceVector(size_t n, const Stream& s) : n_(n), stream_(s.get()) {
    RT(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), stream_));
  }
  DeviceVector(DeviceVector&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_), stream_(o.stream_) {}
  DeviceVector& operator=(DeviceVector&&) = delete;
  ~DeviceVector() {
    if (p_ != nullptr) RT(cudaFreeAsync(p_, stream_));
  }
  T* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
  cudaStream_t stream_;
};

__global__ void bootstrap(const float* quotes, float* discount, int tenors) {
  const int curve = blockIdx.x;
  if (threadIdx.x != 0) return;
  float annuity = 0.0f;
  for (int t = 0; t < tenors; ++t) {
    const float rate = quotes[curve * tenors + t];
    const float df = (1.0f - rate * annuity) / (1.0f + rate);
    discount[curve * tenors + t] = df;
    annuity += df;
  }
}

__global__ void revalue(const float* discount, int tenors, const float* coupons, int swaps, float* npv) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= swaps) return;
  float pv = 0.0f;
  for (int t = 0; t < tenors; ++t) pv += coupons[i] * discount[(i % 4) * tenors + t];
  npv[i] += pv - 1.0f;
}

constexpr int kTenors = 40;
constexpr int kCurves = 4;
constexpr int kSwaps = 1 << 20;

DeviceVector<float> build_curves(const Stream& market, const DeviceVector<float>& quotes) {
  DeviceVector<float> discount(kCurves * kTenors, market);
  bootstrap<<<kCurves, 32, 0, market.get()>>>(quotes.get(), discount.get(), kTenors);
  RT(cudaGetLastError());
  return discount;
}

void run_scenario(Stream& market, Stream& book, const DeviceVector<float>& quotes, const DeviceVector<float>& coupons,
                  DeviceVector<float>& npv) {
  DeviceVector<float> discount = build_curves(market, quotes);
  book.follow(market);
  revalue<<<(kSwaps + 255) / 256, 256, 0, book.get()>>>(discount.get(), kTenors, coupons.get(), kSwaps, npv.get());
  RT(cudaGetLastError());
  market.follow(book);
}

int main() {
  std::vector<float> host_quotes(kCurves * kTenors), host_coupons(kSwaps), host_npv(kSwaps);
  for (size_t i = 0; i < host_quotes.size(); ++i) host_quotes[i] = 0.01f + 0.0004f * (i % kTenors);
  for (size_t i = 0; i < host_coupons.size(); ++i) host_coupons[i] = 0.02f + 1e-8f * i;

  Stream market, book;
  {
    DeviceVector<float> quotes(host_quotes.size(), market);
    DeviceVector<float> coupons(host_coupons.size(), book);
    DeviceVector<float> npv(host_npv.size(), book);
    RT(cudaMemcpyAsync(coupons.get(), host_coupons.data(), kSwaps * sizeof(float), cudaMemcpyHostToDevice, book.get()));
    RT(cudaMemsetAsync(npv.get(), 0, kSwaps * sizeof(float), book.get()));

    for (int scenario = 0; scenario < 64; ++scenario) {
      for (float& q : host_quotes) q *= 1.001f;
      RT(cudaMemcpyAsync(quotes.get(), host_quotes.data(), host_quotes.size() * sizeof(float), cudaMemcpyHostToDevice,
                         market.get()));
      RT(cudaStreamSynchronize(market.get()));
      run_scenario(market, book, quotes, coupons, npv);
    }
    RT(cudaMemcpyAsync(host_npv.data(), npv.get(), kSwaps * sizeof(float), cudaMemcpyDeviceToHost, book.get()));
    RT(cudaStreamSynchronize(book.get()));
  }
  double sum = 0.0;
  for (float v : host_npv) sum += v;
  std::printf("book value over all scenarios: %.3f\n", sum);
  return 0;
}

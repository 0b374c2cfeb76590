// Prices a book of Asian options by Monte Carlo and derives the greeks from the same paths.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define FIN_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct Option {
  float spot, strike, vol, rate, years;
};

__device__ inline unsigned mix(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

__global__ void simulate(Option o, float* paths, int count, int steps, unsigned seed) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= count) return;
  float s = o.spot, dt = o.years / steps, sum = 0.f;
  for (int t = 0; t < steps; ++t) {
    float u = (mix(seed ^ (p * 9781u + t)) >> 8) * (1.f / 16777216.f);
    s *= 1.f + o.rate * dt + o.vol * sqrtf(dt) * (u * 3.46f - 1.73f);
    sum += s;
  }
  paths[p] = sum / steps;
}

__global__ void payoff(const float* paths, int count, Option o, double* price) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < count) atomicAdd(price, static_cast<double>(fmaxf(paths[p] - o.strike, 0.f)) / count);
}

__global__ void pathwiseDelta(const float* paths, int count, Option o, double* delta) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < count && paths[p] > o.strike) atomicAdd(delta, static_cast<double>(paths[p] / o.spot) / count);
}

class Stream {
 public:
  Stream() { FIN_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

class Fence {
 public:
  Fence() { FIN_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Fence(const Fence&) = delete;
  ~Fence() { cudaEventDestroy(event_); }
  // Work enqueued to `after` from now on starts when what `before` holds now has ended.
  void order(cudaStream_t before, cudaStream_t after) {
    FIN_CHECK(cudaEventRecord(event_, before));
    FIN_CHECK(cudaStreamWaitEvent(after, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Stream-ordered memory: allocated and freed on the stream that it was made with.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::size_t n, cudaStream_t s) : size_(n), stream_(s) {
    FIN_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), n * sizeof(T), s));
  }
  DeviceBuffer(DeviceBuffer&& o) noexcept : ptr_(std::exchange(o.ptr_, nullptr)), size_(o.size_), stream_(o.stream_) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (ptr_) cudaFreeAsync(ptr_, stream_);
  }
  T* data() const { return ptr_; }
  std::size_t size() const { return size_; }

 private:
  T* ptr_ = nullptr;
  std::size_t size_ = 0;
  cudaStream_t stream_ = nullptr;
};

class BookPricer {
 public:
  BookPricer(int paths, int steps) : paths_(paths), steps_(steps) {
    FIN_CHECK(cudaMalloc(&results_, 2 * sizeof(double)));
  }
  ~BookPricer() { cudaFree(results_); }

  void run(const std::vector<Option>& book, double& price, double& delta) {
    FIN_CHECK(cudaMemsetAsync(results_, 0, 2 * sizeof(double), sim_));
    unsigned seed = 1;
    for (const Option& o : book) priceOne(o, seed++);
    fence_.order(risk_, sim_);
    double host[2];
    FIN_CHECK(cudaMemcpyAsync(host, results_, sizeof host, cudaMemcpyDeviceToHost, sim_));
    FIN_CHECK(cudaStreamSynchronize(sim_));
    price = host[0];
    delta = host[1];
  }

 private:
  void priceOne(const Option& o, unsigned seed) {
    DeviceBuffer<float> paths(paths_, sim_);
    simulate<<<blocks(), 256, 0, sim_>>>(o, paths.data(), paths_, steps_, seed);
    fence_.order(sim_, risk_);
    payoff<<<blocks(), 256, 0, sim_>>>(paths.data(), paths_, o, results_);
    launchRisk(o, paths);
    FIN_CHECK(cudaGetLastError());
  }

  void launchRisk(const Option& o, const DeviceBuffer<float>& paths) {
    pathwiseDelta<<<blocks(), 256, 0, risk_>>>(paths.data(), paths_, o, results_ + 1);
  }

  unsigned blocks() const { return (paths_ + 255) / 256; }

  int paths_, steps_;
  double* results_ = nullptr;
  Stream sim_, risk_;
  Fence fence_;
};

int main() {
  std::vector<Option> book;
  for (int i = 0; i < 64; ++i) book.push_back({100.f, 90.f + i * 0.5f, 0.2f, 0.03f, 1.f});
  BookPricer pricer(1 << 20, 64);
  double price = 0, delta = 0;
  pricer.run(book, price, delta);
  std::printf("book: price %.4f delta %.4f\n", price, delta);
}

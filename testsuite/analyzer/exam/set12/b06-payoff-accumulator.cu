// Prices a strip of Asian options by Monte Carlo simulation.

#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

inline void gpu(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define GPU(call) gpu((call), #call)

// A single value in device memory with a pinned mirror for read-back.
template <class T>
class DeviceScalar {
 public:
  DeviceScalar() {
    GPU(cudaMalloc(reinterpret_cast<void**>(&device_), sizeof(T)));
    GPU(cudaMallocHost(reinterpret_cast<void**>(&mirror_), sizeof(T)));
  }
  ~DeviceScalar() {
    cudaFree(device_);
    cudaFreeHost(mirror_);
  }
  DeviceScalar(const DeviceScalar&) = delete;
  DeviceScalar& operator=(const DeviceScalar&) = delete;

  T* data() { return device_; }

  void set_zero(cudaStream_t stream = nullptr) { GPU(cudaMemsetAsync(device_, 0, sizeof(T), stream)); }

  T value(cudaStream_t stream = nullptr) {
    GPU(cudaMemcpyAsync(mirror_, device_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    GPU(cudaStreamSynchronize(stream));
    return *mirror_;
  }

 private:
  T* device_ = nullptr;
  T* mirror_ = nullptr;
};

class Stream {
 public:
  Stream() { GPU(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~Stream() {
    cudaStreamSynchronize(handle_);
    cudaStreamDestroy(handle_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

struct Contract {
  float spot, strike, rate, volatility, years;
  int fixings;
};

__global__ void simulate_paths(Contract c, int paths, unsigned long long seed, double* sum, double* sum_sq) {
  const int path = blockIdx.x * blockDim.x + threadIdx.x;
  if (path >= paths) return;
  curandStatePhilox4_32_10_t rng;
  curand_init(seed, path, 0, &rng);
  const float dt = c.years / c.fixings;
  const float drift = (c.rate - 0.5f * c.volatility * c.volatility) * dt;
  const float step = c.volatility * sqrtf(dt);
  float level = c.spot, average = 0.0f;
  for (int i = 0; i < c.fixings; ++i) {
    level *= expf(drift + step * curand_normal(&rng));
    average += level / c.fixings;
  }
  const double payoff = fmax(average - c.strike, 0.0f) * expf(-c.rate * c.years);
  atomicAdd(sum, payoff);
  atomicAdd(sum_sq, payoff * payoff);
}

struct Quote {
  double price, error;
};

class AsianPricer {
 public:
  explicit AsianPricer(int paths) : paths_(paths) {}

  Quote price(const Contract& contract, unsigned long long seed) {
    sum_.set_zero(stream_);
    sum_sq_.set_zero(stream_);
    simulate_paths<<<(paths_ + 127) / 128, 128, 0, stream_>>>(contract, paths_, seed, sum_.data(), sum_sq_.data());
    GPU(cudaGetLastError());
    return summarise();
  }

 private:
  Quote summarise() {
    const double mean = sum_.value() / paths_;
    const double second = sum_sq_.value() / paths_;
    return {mean, std::sqrt((second - mean * mean) / paths_)};
  }

  int paths_;
  DeviceScalar<double> sum_;
  DeviceScalar<double> sum_sq_;
  Stream stream_;
};

int main() {
  AsianPricer pricer(1 << 20);
  const std::vector<float> strikes{90.0f, 95.0f, 100.0f, 105.0f, 110.0f};
  unsigned long long seed = 2024;
  for (float strike : strikes) {
    const Contract c{100.0f, strike, 0.02f, 0.25f, 1.0f, 52};
    const Quote q = pricer.price(c, seed++);
    std::printf("K=%6.1f  price=%8.4f +- %.4f\n", strike, q.price, q.error);
  }
  return 0;
}

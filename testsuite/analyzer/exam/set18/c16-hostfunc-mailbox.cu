// Spectra are computed on the GPU and archived by a writer thread. The stream itself
// announces finished spectra through a host function.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace spectro {

#define ENSURE(x) do { cudaError_t q_ = (x); if (q_ != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(q_)); std::abort(); } } while (0)

constexpr int kWindow = 512;
constexpr int kBins = kWindow / 2;

__global__ void goertzel(const float* window, float* power) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= kBins) return;
  float c = 2.f * cosf(6.2831853f * k / kWindow), s0, s1 = 0.f, s2 = 0.f;
  for (int t = 0; t < kWindow; ++t) {
    s0 = window[t] + c * s1 - s2;
    s2 = s1;
    s1 = s0;
  }
  power[k] = s1 * s1 + s2 * s2 - c * s1 * s2;
}

class Spectrometer;

struct Cell {
  Spectrometer* owner = nullptr;
  float *hostWindow = nullptr, *hostPower = nullptr;
  float *devWindow = nullptr, *devPower = nullptr;
};

class Spectrometer {
 public:
  Spectrometer() {
    ENSURE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (Cell& c : cells_) {
      c.owner = this;
      ENSURE(cudaMallocHost(reinterpret_cast<void**>(&c.hostWindow), kWindow * sizeof(float)));
      ENSURE(cudaMallocHost(reinterpret_cast<void**>(&c.hostPower), kBins * sizeof(float)));
      ENSURE(cudaMalloc(reinterpret_cast<void**>(&c.devWindow), kWindow * sizeof(float)));
      ENSURE(cudaMalloc(reinterpret_cast<void**>(&c.devPower), kBins * sizeof(float)));
      idle_.push_back(&c);
    }
    writer_ = std::thread([this] { archive(); });
  }

  ~Spectrometer() {
    ENSURE(cudaStreamSynchronize(stream_));
    {
      std::lock_guard<std::mutex> g(mu_);
      closing_ = true;
    }
    changed_.notify_all();
    writer_.join();
    for (Cell& c : cells_) {
      cudaFree(c.devWindow);
      cudaFree(c.devPower);
      cudaFreeHost(c.hostWindow);
      cudaFreeHost(c.hostPower);
    }
    cudaStreamDestroy(stream_);
  }

  // Returns as soon as the window is queued; waits only if all cells are in use.
  void feed(const std::vector<float>& samples) {
    Cell* c = takeIdle();
    for (int t = 0; t < kWindow; ++t) c->hostWindow[t] = samples[t] * (0.5f - 0.5f * std::cos(6.2831853f * t / kWindow));
    ENSURE(cudaMemcpyAsync(c->devWindow, c->hostWindow, kWindow * sizeof(float), cudaMemcpyHostToDevice, stream_));
    goertzel<<<(kBins + 63) / 64, 64, 0, stream_>>>(c->devWindow, c->devPower);
    ENSURE(cudaMemcpyAsync(c->hostPower, c->devPower, kBins * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ENSURE(cudaLaunchHostFunc(stream_, &Spectrometer::announce, c));
  }

  std::vector<double> sum() {
    std::lock_guard<std::mutex> g(mu_);
    return sum_;
  }

 private:
  // Called by the stream: no CUDA calls in here.
  static void CUDART_CB announce(void* arg) {
    Cell* c = static_cast<Cell*>(arg);
    std::lock_guard<std::mutex> g(c->owner->mu_);
    c->owner->ready_.push_back(c);
    c->owner->changed_.notify_all();
  }

  Cell* takeIdle() {
    std::unique_lock<std::mutex> g(mu_);
    changed_.wait(g, [this] { return !idle_.empty(); });
    Cell* c = idle_.front();
    idle_.pop_front();
    return c;
  }

  void archive() {
    std::unique_lock<std::mutex> g(mu_);
    for (;;) {
      changed_.wait(g, [this] { return !ready_.empty() || closing_; });
      if (ready_.empty()) return;
      Cell* c = ready_.front();
      ready_.pop_front();
      for (int k = 0; k < kBins; ++k) sum_[k] += c->hostPower[k];
      idle_.push_back(c);
      changed_.notify_all();
    }
  }

  cudaStream_t stream_ = nullptr;
  std::array<Cell, 4> cells_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<Cell*> idle_, ready_;
  std::vector<double> sum_ = std::vector<double>(kBins, 0.0);
  bool closing_ = false;
  std::thread writer_;
};

}  // namespace spectro

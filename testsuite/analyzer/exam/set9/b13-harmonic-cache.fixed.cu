// Spherical-harmonic coefficient tables for the orbit propagator. A table is
// uploaded once, by the first propagator that asks for it, and shared by all
// propagator threads afterwards.

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace orbit {

inline void expect(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct State {
  double r[3];
  double v[3];
};

// Source of the coefficients; fills `out` with degree*(degree+1) numbers.
using Model = void (*)(int degree, double* out);

class HarmonicCache {
 public:
  explicit HarmonicCache(Model model) : model_(model) {}
  ~HarmonicCache() {
    cudaDeviceSynchronize();
    for (auto& item : tables_) {
      cudaFree(item.second->device);
      cudaFreeHost(item.second->host);
      cudaEventDestroy(item.second->ready);
    }
  }
  HarmonicCache(const HarmonicCache&) = delete;
  HarmonicCache& operator=(const HarmonicCache&) = delete;

  // The table of that degree, usable by later work on `stream`.
  const double* get(int degree, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Table>& slot = tables_[degree];
    if (!slot) {
      slot = std::make_unique<Table>();
      expect(cudaEventCreateWithFlags(&slot->ready, cudaEventDisableTiming));
      upload(*slot, degree, stream);
    } else {
      expect(cudaStreamWaitEvent(stream, slot->ready, 0));
    }
    return slot->device;
  }

 private:
  struct Table {
    double* host = nullptr;
    double* device = nullptr;
    cudaEvent_t ready = nullptr;
  };

  void upload(Table& t, int degree, cudaStream_t stream) {
    const std::size_t n = static_cast<std::size_t>(degree) * (degree + 1);
    expect(cudaMallocHost(&t.host, n * sizeof(double)));
    expect(cudaMalloc(&t.device, n * sizeof(double)));
    model_(degree, t.host);
    expect(cudaMemcpyAsync(t.device, t.host, n * sizeof(double), cudaMemcpyHostToDevice, stream));
    expect(cudaEventRecord(t.ready, stream));
  }

  Model model_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Table>> tables_;
};

__global__ void step_orbits(State* states, int n, const double* coeff, int degree, double dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State s = states[i];
  const double d2 = s.r[0] * s.r[0] + s.r[1] * s.r[1] + s.r[2] * s.r[2];
  double pull = 398600.4418 / (d2 * sqrt(d2));
  double ratio = 1.0;
  for (int k = 0; k < degree * (degree + 1); k += degree) {
    ratio *= 6378.137 / sqrt(d2);
    pull += coeff[k] * ratio * 1e-3;
  }
  for (int a = 0; a < 3; ++a) {
    s.v[a] -= pull * s.r[a] * dt;
    s.r[a] += s.v[a] * dt;
  }
  states[i] = s;
}

class Propagator {
 public:
  Propagator(HarmonicCache& cache, int degree) : cache_(cache), degree_(degree) {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Propagator() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Propagator(const Propagator&) = delete;
  Propagator& operator=(const Propagator&) = delete;

  void advance(std::vector<State>& states, int steps, double dt) {
    const int n = static_cast<int>(states.size());
    const std::size_t bytes = states.size() * sizeof(State);
    State* device = nullptr;
    expect(cudaMallocAsync(&device, bytes, stream_));
    expect(cudaMemcpyAsync(device, states.data(), bytes, cudaMemcpyHostToDevice, stream_));
    const double* coeff = cache_.get(degree_, stream_);
    for (int i = 0; i < steps; ++i) step_orbits<<<(n + 127) / 128, 128, 0, stream_>>>(device, n, coeff, degree_, dt);
    expect(cudaGetLastError());
    expect(cudaMemcpyAsync(states.data(), device, bytes, cudaMemcpyDeviceToHost, stream_));
    expect(cudaFreeAsync(device, stream_));
    expect(cudaStreamSynchronize(stream_));
  }

 private:
  HarmonicCache& cache_;
  int degree_;
  cudaStream_t stream_ = nullptr;
};

// Advances every constellation on a thread of its own.
void advance_all(HarmonicCache& cache, std::vector<std::vector<State>>& constellations, int degree, int steps, double dt) {
  std::vector<std::thread> threads;
  for (std::vector<State>& c : constellations)
    threads.emplace_back([&cache, &c, degree, steps, dt] { Propagator(cache, degree).advance(c, steps, dt); });
  for (std::thread& t : threads) t.join();
}

}  // namespace orbit

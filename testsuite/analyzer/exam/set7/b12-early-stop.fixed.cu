// Monte Carlo option pricer: a host callback follows the running mean and stops the run early.
#include <cuda_runtime.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                  \
  do {                                                                         \
    const cudaError_t rc = (x);                                                \
    if (rc != cudaSuccess) {                                                   \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(rc));          \
      std::exit(3);                                                            \
    }                                                                          \
  } while (0)

struct Tally {
  double sum;
  double sumSquares;
};

struct Monitor {
  const Tally* latest = nullptr;  // two pinned entries
  double paths = 0;
  double sum = 0;
  double sumSquares = 0;
  double tolerance = 0;
  std::atomic<bool> converged{false};
};

struct Report {
  Monitor* monitor = nullptr;
  int slot = 0;
  double paths = 0;
};

static void CUDART_CB onTally(void* arg) {
  const Report* r = static_cast<const Report*>(arg);
  Monitor& m = *r->monitor;
  m.paths += r->paths;
  m.sum += m.latest[r->slot].sum;
  m.sumSquares += m.latest[r->slot].sumSquares;
  const double mean = m.sum / m.paths;
  const double variance = m.sumSquares / m.paths - mean * mean;
  if (std::sqrt(variance / m.paths) < m.tolerance) m.converged = true;
}

__global__ void simulate(unsigned batch, int paths, float strike, Tally* tally) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  unsigned s = (batch * 747796405u + i) * 2891336453u + 1u;
  float price = 100.f;
  for (int t = 0; t < 64; ++t) {
    s = s * 1664525u + 1013904223u;
    price *= 1.f + 0.01f * (static_cast<float>(s >> 8) / 16777216.f - 0.498f);
  }
  const double payoff = price > strike ? price - strike : 0.f;
  atomicAdd(&tally->sum, payoff);
  atomicAdd(&tally->sumSquares, payoff * payoff);
}

class Pricer {
 public:
  static constexpr int kSlots = 2;

  Pricer(int paths, double tolerance) : paths_(paths) {
    CK(cudaStreamCreateWithFlags(&sim_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CK(cudaMallocHost(&pinned_, sizeof(Tally) * kSlots));
    CK(cudaMalloc(&device_, sizeof(Tally) * kSlots));
    for (int s = 0; s < kSlots; ++s) {
      CK(cudaEventCreateWithFlags(&simulated_[s], cudaEventDisableTiming));
      CK(cudaEventCreateWithFlags(&copied_[s], cudaEventDisableTiming));
      reports_[s] = Report{&monitor_, s, static_cast<double>(paths)};
    }
    monitor_.latest = pinned_;
    monitor_.tolerance = tolerance;
  }

  ~Pricer() {
    finish();
    for (int s = 0; s < kSlots; ++s) {
      CK(cudaEventDestroy(simulated_[s]));
      CK(cudaEventDestroy(copied_[s]));
    }
    CK(cudaFree(device_));
    CK(cudaFreeHost(pinned_));
    CK(cudaStreamDestroy(sim_));
    CK(cudaStreamDestroy(copy_));
  }

  void batch(unsigned index, float strike) {
    const int slot = index % kSlots;
    CK(cudaStreamWaitEvent(sim_, copied_[slot], 0));
    CK(cudaMemsetAsync(device_ + slot, 0, sizeof(Tally), sim_));
    simulate<<<(paths_ + 255) / 256, 256, 0, sim_>>>(index, paths_, strike, device_ + slot);
    CK(cudaGetLastError());
    CK(cudaEventRecord(simulated_[slot], sim_));
    fetch(slot);
    notify(slot);
  }

  bool converged() const { return monitor_.converged; }

  double price() {
    finish();
    return monitor_.sum / monitor_.paths;
  }

 private:
  void fetch(int slot) {
    CK(cudaStreamWaitEvent(copy_, simulated_[slot], 0));
    CK(cudaMemcpyAsync(pinned_ + slot, device_ + slot, sizeof(Tally), cudaMemcpyDeviceToHost, copy_));
    CK(cudaEventRecord(copied_[slot], copy_));
  }

  void notify(int slot) { CK(cudaLaunchHostFunc(copy_, onTally, &reports_[slot])); }

  void finish() {
    CK(cudaStreamSynchronize(sim_));
    CK(cudaStreamSynchronize(copy_));
  }

  int paths_;
  cudaStream_t sim_ = nullptr;
  cudaStream_t copy_ = nullptr;
  cudaEvent_t simulated_[kSlots] = {};
  cudaEvent_t copied_[kSlots] = {};
  Tally* pinned_ = nullptr;
  Tally* device_ = nullptr;
  Monitor monitor_;
  Report reports_[kSlots];
};

int main(int argc, char** argv) {
  const int maxBatches = argc > 1 ? std::atoi(argv[1]) : 200;
  Pricer pricer(1 << 16, 0.01);
  int used = 0;
  while (used < maxBatches && !pricer.converged()) pricer.batch(used++, 101.f);
  if (used > 0) std::printf("%d batches, price %.4f\n", used, pricer.price());
  return 0;
}

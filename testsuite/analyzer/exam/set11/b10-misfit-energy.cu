// Elastic wave simulation: the interior and the absorbing boundary run on two
// streams and share the field of accumulated energy.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_OK(expression)                                            \
  do {                                                                 \
    if (cudaError_t code = (expression); code != cudaSuccess) {        \
      std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(code));    \
      std::abort();                                                    \
    }                                                                  \
  } while (0)

__global__ void leapfrog(float* velocity, const float* stress, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) velocity[i] += dt * (stress[i] - stress[i - 1]);
}

__global__ void damp_edges(float* memory_variable, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) memory_variable[i] = factor * memory_variable[i] + 1e-3f;
}

__global__ void accumulate_energy(const float* field, float* energy, int n, float weight) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) energy[i] += weight * field[i] * field[i];
}

struct DeviceDeleter {
  void operator()(float* p) const { CUDA_OK(cudaFree(p)); }
};
using DeviceArray = std::unique_ptr<float[], DeviceDeleter>;

DeviceArray make_zeros(int n) {
  float* p = nullptr;
  CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&p), sizeof(float) * n));
  CUDA_OK(cudaMemset(p, 0, sizeof(float) * n));
  return DeviceArray(p);
}

class AbsorbingBoundary {
 public:
  explicit AbsorbingBoundary(int n) : n_(n), memory_(make_zeros(n)) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  }
  ~AbsorbingBoundary() {
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaEventDestroy(done_));
    CUDA_OK(cudaStreamDestroy(stream_));
  }
  AbsorbingBoundary(const AbsorbingBoundary&) = delete;
  AbsorbingBoundary& operator=(const AbsorbingBoundary&) = delete;

  /// Starts after `inputs`; adds the energy that is lost at the edges.
  void execute(cudaEvent_t inputs, float* energy) {
    CUDA_OK(cudaStreamWaitEvent(stream_, inputs, 0));
    damp_edges<<<(n_ + 255) / 256, 256, 0, stream_>>>(memory_.get(), n_, 0.95f);
    accumulate_energy<<<(n_ + 255) / 256, 256, 0, stream_>>>(memory_.get(), energy, n_, 0.5f);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(done_, stream_));
  }

  void join(cudaStream_t other) const { CUDA_OK(cudaStreamWaitEvent(other, done_, 0)); }

 private:
  int n_;
  DeviceArray memory_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

class Simulation {
 public:
  explicit Simulation(int n)
      : n_(n), velocity_(make_zeros(n)), stress_(make_zeros(n)), energy_(make_zeros(n)), boundary_(n) {
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
  }
  ~Simulation() {
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaEventDestroy(cleared_));
    CUDA_OK(cudaStreamDestroy(main_));
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  void step(float dt) {
    CUDA_OK(cudaMemsetAsync(energy_.get(), 0, sizeof(float) * n_, main_));
    CUDA_OK(cudaEventRecord(cleared_, main_));
    boundary_.execute(cleared_, energy_.get());

    leapfrog<<<blocks(), 256, 0, main_>>>(velocity_.get(), stress_.get(), n_, dt);
    accumulate_energy<<<blocks(), 256, 0, main_>>>(velocity_.get(), energy_.get(), n_, 1.0f);
    CUDA_OK(cudaGetLastError());
    boundary_.join(main_);
  }

  double total_energy() {
    std::vector<float> host(n_);
    CUDA_OK(cudaMemcpyAsync(host.data(), energy_.get(), sizeof(float) * n_, cudaMemcpyDeviceToHost, main_));
    CUDA_OK(cudaStreamSynchronize(main_));
    double sum = 0.0;
    for (float e : host) sum += e;
    return sum;
  }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  int n_;
  DeviceArray velocity_, stress_, energy_;
  AbsorbingBoundary boundary_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t cleared_ = nullptr;
};

int main() {
  Simulation simulation(1 << 18);
  for (int i = 0; i < 100; ++i) simulation.step(1e-3f);
  std::printf("energy %.6e\n", simulation.total_energy());
  return 0;
}

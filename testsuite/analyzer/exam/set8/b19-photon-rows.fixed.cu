// Photon transport with row recycling: a scheduler stream refills rows of finished photons while the
// march stream works on the batch.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define DIE_IF(x)                                                                        \
  do {                                                                                   \
    cudaError_t e = (x);                                                                 \
    if (e != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e));                     \
      std::exit(EXIT_FAILURE);                                                           \
    }                                                                                    \
  } while (0)

struct Row {
  float depth;
  float weight;
  unsigned rng;
};

__device__ inline float uniform(unsigned& s) {
  s = s * 1664525u + 1013904223u;
  return (s >> 8) * (1.0f / 16777216.0f);
}

// Rows whose photon has died get a new one.
__global__ void refillRows(Row* rows, int n, unsigned generation) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || rows[i].weight > 1e-3f) return;
  rows[i] = {0.f, 1.f, (generation * 9781u + i) | 1u};
}

__global__ void marchRows(const Row* rows, Row* next, float* absorbed, int n, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Row r = rows[i];
  for (int s = 0; s < 8 && r.weight > 1e-3f; ++s) {
    r.depth += -logf(uniform(r.rng) + 1e-7f);
    const float lost = r.weight * 0.2f;
    r.weight -= lost;
    atomicAdd(&absorbed[min(static_cast<int>(r.depth), layers - 1)], lost);
  }
  next[i] = r;
}

__global__ void stashRows(const Row* next, Row* rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rows[i] = next[i];
}

class PhotonLoop {
 public:
  PhotonLoop(int rows, int layers) : n_(rows), layers_(layers) {
    DIE_IF(cudaStreamCreateWithFlags(&schedule_, cudaStreamNonBlocking));
    DIE_IF(cudaStreamCreateWithFlags(&march_, cudaStreamNonBlocking));
    DIE_IF(cudaEventCreateWithFlags(&rowsReady_, cudaEventDisableTiming));
    DIE_IF(cudaEventCreateWithFlags(&rowsFree_, cudaEventDisableTiming));
    DIE_IF(cudaMalloc(&rows_, rows * sizeof(Row)));
    DIE_IF(cudaMalloc(&next_, rows * sizeof(Row)));
    DIE_IF(cudaMalloc(&absorbed_, layers * sizeof(float)));
    DIE_IF(cudaMemsetAsync(rows_, 0, rows * sizeof(Row), schedule_));
    DIE_IF(cudaMemsetAsync(absorbed_, 0, layers * sizeof(float), march_));
  }
  ~PhotonLoop() {
    cudaStreamSynchronize(schedule_);
    cudaStreamSynchronize(march_);
    cudaFree(rows_);
    cudaFree(next_);
    cudaFree(absorbed_);
    cudaEventDestroy(rowsReady_);
    cudaEventDestroy(rowsFree_);
    cudaStreamDestroy(schedule_);
    cudaStreamDestroy(march_);
  }
  PhotonLoop(const PhotonLoop&) = delete;
  PhotonLoop& operator=(const PhotonLoop&) = delete;

  void generation(unsigned g) {
    publish(g);
    march();
    stash();
  }

  std::vector<float> profile() {
    std::vector<float> host(layers_);
    DIE_IF(cudaMemcpyAsync(host.data(), absorbed_, layers_ * sizeof(float), cudaMemcpyDeviceToHost, march_));
    DIE_IF(cudaStreamSynchronize(march_));
    return host;
  }

 private:
  int grid() const { return (n_ + 127) / 128; }

  void publish(unsigned g) {
    DIE_IF(cudaStreamWaitEvent(schedule_, rowsFree_, 0));
    refillRows<<<grid(), 128, 0, schedule_>>>(rows_, n_, g);
    DIE_IF(cudaEventRecord(rowsReady_, schedule_));
  }

  void march() {
    DIE_IF(cudaStreamWaitEvent(march_, rowsReady_, 0));
    marchRows<<<grid(), 128, 0, march_>>>(rows_, next_, absorbed_, n_, layers_);
  }

  void stash() {
    stashRows<<<grid(), 128, 0, march_>>>(next_, rows_, n_);
    DIE_IF(cudaEventRecord(rowsFree_, march_));
  }

  int n_, layers_;
  cudaStream_t schedule_ = nullptr, march_ = nullptr;
  cudaEvent_t rowsReady_ = nullptr, rowsFree_ = nullptr;
  Row *rows_ = nullptr, *next_ = nullptr;
  float* absorbed_ = nullptr;
};

int main(int argc, char** argv) {
  const int generations = argc > 1 ? std::atoi(argv[1]) : 400;
  PhotonLoop loop(1 << 18, 32);
  for (int g = 0; g < generations; ++g) loop.generation(g);
  const std::vector<float> profile = loop.profile();
  for (size_t l = 0; l < profile.size(); ++l) std::printf("%2zu %g\n", l, profile[l]);
  return 0;
}

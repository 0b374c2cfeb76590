// Multigrid smoothing as a chain of dependent launches. Ahead of the wait, the
// kernels touch nothing but constants (needs sm_90 to overlap).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHAIN_OK(x)                                                      \
  do {                                                                   \
    cudaError_t e_ = (x);                                                \
    if (e_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));      \
      std::abort();                                                      \
    }                                                                    \
  } while (0)

constexpr int kBlock = 128;
constexpr int kTaps = 5;

__device__ float loadTaps(const float* taps, float (&local)[kTaps]) {
  float norm = 0.0f;
  for (int t = 0; t < kTaps; ++t) {
    local[t] = taps[t];
    norm += local[t];
  }
  return 1.0f / norm;
}

__global__ void restrictLine(const float* fine, float* coarse, int n) {
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) coarse[i] = 0.5f * (fine[2 * i] + fine[2 * i + 1]);
}

__global__ void smoothLine(const float* in, float* out, const float* taps, int n) {
  float local[kTaps];
  const float norm = loadTaps(taps, local);
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int t = 0; t < kTaps; ++t) acc += local[t] * in[min(n - 1, max(0, i + t - kTaps / 2))];
  out[i] = norm * acc;
}

__global__ void prolongAdd(const float* coarse, float* fine, int n) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) {
    fine[2 * i] += 0.5f * coarse[i];
    fine[2 * i + 1] += 0.5f * coarse[i];
  }
}

template <typename... P, typename... A>
void launchAfter(cudaStream_t s, int n, void (*kernel)(P...), A... args) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3((n + kBlock - 1) / kBlock);
  cfg.blockDim = dim3(kBlock);
  cfg.stream = s;
  cfg.attrs = &overlap;
  cfg.numAttrs = 1;
  CHAIN_OK(cudaLaunchKernelEx(&cfg, kernel, static_cast<P>(args)...));
}

class LineSmoother {
 public:
  LineSmoother(int fine, const float (&taps)[kTaps]) : n_(fine / 2) {
    CHAIN_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (float** p : {&coarse_, &tmp_}) CHAIN_OK(cudaMalloc(p, sizeof(float) * n_));
    CHAIN_OK(cudaMalloc(&taps_, sizeof(taps)));
    CHAIN_OK(cudaMemcpyAsync(taps_, taps, sizeof(taps), cudaMemcpyHostToDevice, stream_));
    CHAIN_OK(cudaStreamSynchronize(stream_));
  }
  ~LineSmoother() {
    cudaStreamSynchronize(stream_);
    cudaFree(taps_);
    for (float* p : {coarse_, tmp_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  LineSmoother(const LineSmoother&) = delete;
  LineSmoother& operator=(const LineSmoother&) = delete;

  // `line` has an even length; all work on it goes through this object.
  void cycle(float* line, int sweeps) {
    launchAfter(stream_, n_, restrictLine, line, coarse_, n_);
    for (int s = 0; s < sweeps; ++s) {
      launchAfter(stream_, n_, smoothLine, coarse_, tmp_, taps_, n_);
      std::swap(coarse_, tmp_);
    }
    launchAfter(stream_, n_, prolongAdd, coarse_, line, n_);
  }

  void wait() { CHAIN_OK(cudaStreamSynchronize(stream_)); }

 private:
  int n_;
  cudaStream_t stream_ = nullptr;
  float *coarse_ = nullptr, *tmp_ = nullptr, *taps_ = nullptr;
};

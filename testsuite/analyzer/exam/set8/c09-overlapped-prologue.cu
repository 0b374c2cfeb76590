// Token chain with programmatic dependent launch: every kernel loads what does not depend on its
// predecessor first and waits before it touches anything a predecessor wrote or still reads.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define TRY(x)                                                                    \
  do {                                                                            \
    cudaError_t e_ = (x);                                                         \
    if (e_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_));         \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

constexpr int kDim = 1024;
constexpr int kThreads = 256;

// Weights are constant, the state is not.
__global__ void scaleState(const float* gain, const float* state, float* scaled) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float g = gain[i];
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  scaled[i] = g * state[i];
}

// Reads `scaled` of its predecessor and writes `mixed`, which the kernel after it reads.
__global__ void mixState(const float* weights, const float* scaled, float* mixed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float w[4];
  for (int k = 0; k < 4; ++k) w[k] = weights[k * kDim + i];
  cudaGridDependencySynchronize();
  float s = 0.f;
  for (int k = 0; k < 4; ++k) s += w[k] * scaled[(i + k * 17) % kDim];
  mixed[i] = s;
  cudaTriggerProgrammaticLaunchCompletion();
}

// Reads `scaled` from two kernels back: mixState has waited for it, we wait for mixState.
__global__ void addResidual(const float* bias, const float* scaled, const float* mixed, float* state) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float b = bias[i];
  cudaGridDependencySynchronize();
  state[i] = tanhf(scaled[i] + mixed[i] + b);
}

template <typename... P, typename... A>
void launchAfter(cudaStream_t stream, void (*kernel)(P...), A... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(kDim / kThreads);
  cfg.blockDim = dim3(kThreads);
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  TRY(cudaLaunchKernelEx(&cfg, kernel, static_cast<P>(args)...));
}

class Recurrence {
 public:
  explicit Recurrence(const std::vector<float>& parameters) {
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaMalloc(&params_, parameters.size() * sizeof(float)));
    TRY(cudaMalloc(&work_, 3 * kDim * sizeof(float)));
    TRY(cudaMemcpyAsync(params_, parameters.data(), parameters.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    TRY(cudaMemsetAsync(work_, 0, 3 * kDim * sizeof(float), stream_));
    TRY(cudaStreamSynchronize(stream_));
  }
  ~Recurrence() {
    cudaStreamSynchronize(stream_);
    cudaFree(params_);
    cudaFree(work_);
    cudaStreamDestroy(stream_);
  }
  Recurrence(const Recurrence&) = delete;
  Recurrence& operator=(const Recurrence&) = delete;

  void tokens(int count) {
    const float *gain = params_, *bias = params_ + kDim, *weights = params_ + 2 * kDim;
    float *state = work_, *scaled = work_ + kDim, *mixed = work_ + 2 * kDim;
    for (int t = 0; t < count; ++t) {
      launchAfter(stream_, scaleState, gain, state, scaled);
      launchAfter(stream_, mixState, weights, scaled, mixed);
      launchAfter(stream_, addResidual, bias, scaled, mixed, state);
    }
  }

  std::vector<float> state() {
    std::vector<float> host(kDim);
    TRY(cudaMemcpyAsync(host.data(), work_, kDim * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  cudaStream_t stream_ = nullptr;
  float* params_ = nullptr;
  float* work_ = nullptr;
};

int main() {
  std::vector<float> parameters(6 * kDim);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = 0.1f + 0.001f * (i % 97);
  Recurrence r(parameters);
  r.tokens(256);
  const std::vector<float> s = r.state();
  std::printf("%g %g\n", s.front(), s.back());
  return 0;
}

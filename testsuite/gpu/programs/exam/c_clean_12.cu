// Chain of three kernels with programmatic dependent launches: prologue on constant data before the wait, every
// access to data of the predecessors behind it, and each link of the chain waits.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kN = 1 << 14, kTaps = 32;

__global__ void embed(float* x, int n, int round, int work) {
  cudaTriggerProgrammaticLaunchCompletion();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = float(round + (i & 15));
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  if (i < n) x[i] = v;
}
__global__ void convolve(const float* taps, const float* x, float* y, int n, int work) {
  __shared__ float w[kTaps];
  if (threadIdx.x < kTaps) w[threadIdx.x] = taps[threadIdx.x];  // weights are constant since start-up
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < kTaps; ++k) s += w[k] * x[(i + k) % n];
  for (int k = 0; k < work; ++k) s = fmaf(s, 0.9999f, 1e-4f);
  if (i < n) y[i] = s;
}
__global__ void residual(const float* x, const float* y, float* acc, int n) {
  cudaGridDependencySynchronize();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += x[i] + y[i];  // x comes from two links back: convolve waited for it before it ended
}

template <class... P, class... A>
static void launch(void (*k)(P...), int grid, int block, cudaStream_t s, bool dependent, A... a) {
  cudaLaunchAttribute attr;
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(grid);
  cfg.blockDim = dim3(block);
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = dependent ? 1 : 0;
  CK(cudaLaunchKernelEx(&cfg, k, P(a)...));
}

int main() {
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float *taps, *x, *y, *acc, *host;
  CK(cudaMalloc(&taps, kTaps * sizeof(float)));
  for (auto** p : {&x, &y, &acc}) CK(cudaMalloc(p, kN * sizeof(float)));
  CK(cudaMallocHost(&host, kN * sizeof(float)));
  for (int i = 0; i < kTaps; ++i) host[i] = 1.0f / (1 + i);
  CK(cudaMemcpyAsync(taps, host, kTaps * sizeof(float), cudaMemcpyHostToDevice, s));
  CK(cudaMemsetAsync(acc, 0, kN * sizeof(float), s));
  CK(cudaStreamSynchronize(s));
  for (int round = 0; round < 4; ++round) {
    launch(embed, kN / 128, 128, s, false, x, kN, round, 100000);
    launch(convolve, kN / 128, 128, s, true, taps, x, y, kN, 100000);
    launch(residual, kN / 128, 128, s, true, x, y, acc, kN);
  }
  CK(cudaMemcpyAsync(host, acc, kN * sizeof(float), cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  std::printf("acc %f\n", host[9]);
  CK(cudaFree(taps));
  CK(cudaFree(x));
  CK(cudaFree(y));
  CK(cudaFree(acc));
  CK(cudaFreeHost(host));
  CK(cudaStreamDestroy(s));
  return 0;
}

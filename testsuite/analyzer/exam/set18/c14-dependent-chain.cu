// RMS normalisation followed by a gated projection, as a chain of programmatic
// dependent launches: the prologue of a kernel overlaps with the tail of the one before.
// Built for sm_90 and later only.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chain {

inline void good(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kDim = 256;

// Everything that earlier grids wrote may be touched only after this.
__device__ __forceinline__ void waitForPrimaries() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void letDependentsStart() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// `gain` is a weight: constant while the layer lives.
__global__ void rmsNorm(const float* x, const float* gain, float* y) {
  __shared__ float part[kDim];
  const int c = threadIdx.x;
  const float g = gain[c];
  waitForPrimaries();
  letDependentsStart();
  const float v = x[blockIdx.x * kDim + c];
  part[c] = v * v;
  __syncthreads();
  for (int d = kDim / 2; d > 0; d >>= 1) {
    if (c < d) part[c] += part[c + d];
    __syncthreads();
  }
  y[blockIdx.x * kDim + c] = g * v * rsqrtf(part[0] / kDim + 1e-6f);
}

__global__ void gated(const float* y, const float* weight, const float* gate, float* x) {
  __shared__ float tile[kDim];
  const int c = threadIdx.x;
  const float open = 1.f / (1.f + expf(-gate[c]));
  waitForPrimaries();
  tile[c] = y[blockIdx.x * kDim + c];
  __syncthreads();
  letDependentsStart();
  float acc = 0.f;
  for (int k = 0; k < kDim; ++k) acc += tile[k] * weight[k * kDim + c];
  x[blockIdx.x * kDim + c] += open * acc;
}

template <class... Params, class... Args>
void launchDependent(cudaStream_t s, int blocks, void (*kernel)(Params...), Args... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(blocks);
  cfg.blockDim = dim3(kDim);
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  good(cudaLaunchKernelEx(&cfg, kernel, static_cast<Params>(args)...));
}

struct Layer {
  const float* gain;
  const float* weight;
  const float* gate;
};

// Runs the layers in place on x [rows, kDim]; y is scratch of the same shape.
// The weights were uploaded and synchronised long ago.
void forward(const std::vector<Layer>& layers, float* x, float* y, int rows, cudaStream_t s) {
  for (const Layer& l : layers) {
    launchDependent(s, rows, rmsNorm, x, l.gain, y);
    launchDependent(s, rows, gated, y, l.weight, l.gate, x);
  }
}

// Fills x from pinned memory, runs the layers and brings the result back.
void infer(const std::vector<Layer>& layers, const float* pinnedIn, float* pinnedOut, float* x, float* y, int rows,
           cudaStream_t s) {
  const size_t bytes = size_t(rows) * kDim * sizeof(float);
  good(cudaMemcpyAsync(x, pinnedIn, bytes, cudaMemcpyHostToDevice, s));
  forward(layers, x, y, rows, s);
  good(cudaMemcpyAsync(pinnedOut, x, bytes, cudaMemcpyDeviceToHost, s));
  good(cudaStreamSynchronize(s));
}

}  // namespace chain

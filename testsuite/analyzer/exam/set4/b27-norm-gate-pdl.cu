// Residual + RMS norm followed by a gated projection, chained with programmatic
// stream serialization so that weight tiles are fetched under the norm's tail.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>

#define RT(x)                                                                     \
  do {                                                                            \
    cudaError_t rc = (x);                                                         \
    if (rc != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(rc));        \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

namespace pdl {
__device__ __forceinline__ void launchDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
}  // namespace pdl

constexpr int kThreads = 256;
constexpr int kTile = 8;

__device__ float blockSum(float v) {
  __shared__ float s[kThreads];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = kThreads / 2; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  float r = s[0];
  __syncthreads();
  return r;
}

__global__ void residualNorm(const float* x, float* residual, float* normed, int dim, float eps) {
  const size_t row = static_cast<size_t>(blockIdx.x) * dim;
  pdl::launchDependents();
  float sq = 0.f;
  for (int i = threadIdx.x; i < dim; i += kThreads) {
    float v = x[row + i] + residual[row + i];
    residual[row + i] = v;
    sq += v * v;
  }
  const float inv = rsqrtf(blockSum(sq) / dim + eps);
  for (int i = threadIdx.x; i < dim; i += kThreads) normed[row + i] = residual[row + i] * inv;
}

struct Fragment {
  float w[kTile];
  float a[kTile];
};

__device__ void loadFragment(Fragment& f, const float* normed, const __half* weight, int dim, int k0) {
  const size_t row = static_cast<size_t>(blockIdx.x) * dim;
#pragma unroll
  for (int j = 0; j < kTile; ++j) {
    const int k = k0 + j * kThreads;
    f.w[j] = k < dim ? __half2float(weight[k]) : 0.f;
    f.a[j] = k < dim ? normed[row + k] : 0.f;
  }
}

__device__ float dot(const Fragment& f) {
  float acc = 0.f;
#pragma unroll
  for (int j = 0; j < kTile; ++j) acc += f.w[j] * f.a[j];
  return acc;
}

__global__ void gateProjection(const float* normed, const __half* weight, float* gate, int dim) {
  Fragment f;
  loadFragment(f, normed, weight, dim, threadIdx.x);
  pdl::wait();
  float acc = dot(f);
  for (int k0 = kTile * kThreads; k0 < dim; k0 += kTile * kThreads) {
    loadFragment(f, normed, weight, dim, k0 + threadIdx.x);
    acc += dot(f);
  }
  acc = blockSum(acc);
  if (threadIdx.x == 0) gate[blockIdx.x] = 1.f / (1.f + __expf(-acc));
}

struct GateBlock {
  float* residual;
  float* normed;
  const __half* weight;
  float* gate;
  int rows;
  int dim;
};

static void launchOverlapped(const GateBlock& b, cudaStream_t stream) {
  cudaLaunchAttribute attr[1];
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg = {};
  cfg.gridDim = dim3(b.rows);
  cfg.blockDim = dim3(kThreads);
  cfg.stream = stream;
  cfg.attrs = attr;
  cfg.numAttrs = 1;
  RT(cudaLaunchKernelEx(&cfg, gateProjection, static_cast<const float*>(b.normed), b.weight, b.gate, b.dim));
}

void forwardGate(const GateBlock& b, const float* x, cudaStream_t stream) {
  residualNorm<<<b.rows, kThreads, 0, stream>>>(x, b.residual, b.normed, b.dim, 1e-6f);
  RT(cudaGetLastError());
  launchOverlapped(b, stream);
}

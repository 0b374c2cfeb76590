// Router scoring followed by expert bias add; launched with programmatic dependent launch.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK_CUDA(cmd)                                                     \
  if (cudaError_t e = (cmd); e != cudaSuccess) {                            \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
    exit(EXIT_FAILURE);                                                     \
  }

namespace {

__device__ __forceinline__ void griddep_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void griddep_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

constexpr int kThreads = 128;

// Computes per-row scale and unnormalised scores.
__global__ void router_scores_kernel(const float* __restrict__ hidden, float* scores, float* row_scale, int hidden_dim,
                                     int num_experts) {
  __shared__ float red[kThreads];
  griddep_launch();
  const float* row = hidden + size_t(blockIdx.x) * hidden_dim;
  float ss = 0.f;
  for (int i = threadIdx.x; i < hidden_dim; i += kThreads) ss += row[i] * row[i];
  red[threadIdx.x] = ss;
  __syncthreads();
  for (int w = kThreads / 2; w > 0; w >>= 1) {
    if (threadIdx.x < w) red[threadIdx.x] += red[threadIdx.x + w];
    __syncthreads();
  }
  for (int e = threadIdx.x; e < num_experts; e += kThreads) scores[size_t(blockIdx.x) * num_experts + e] = row[e];
  if (threadIdx.x == 0) row_scale[blockIdx.x] = rsqrtf(red[0] / hidden_dim + 1e-6f);
}

// out = scores * row_scale + bias
__global__ void router_bias_kernel(const float* scores, const float* row_scale, const float* __restrict__ bias, float* out,
                                   int num_experts) {
  // bias is a weight and may be prefetched ahead of the primary
  const float b = threadIdx.x < num_experts ? bias[threadIdx.x] : 0.f;
  griddep_wait();
  const float scale = row_scale[blockIdx.x];
  if (threadIdx.x < num_experts) {
    const size_t idx = size_t(blockIdx.x) * num_experts + threadIdx.x;
    out[idx] = scores[idx] * scale + b;
  }
}

struct RouterParams {
  const float* hidden;
  const float* bias;
  float* scores;
  float* row_scale;
  float* out;
  int tokens, hidden_dim, num_experts;
};

cudaLaunchConfig_t make_config(int grid, cudaStream_t stream, cudaLaunchAttribute* attr, bool pdl) {
  cudaLaunchConfig_t cfg = {};
  cfg.gridDim = dim3(grid);
  cfg.blockDim = dim3(kThreads);
  cfg.stream = stream;
  attr->id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr->val.programmaticStreamSerializationAllowed = pdl ? 1 : 0;
  cfg.attrs = attr;
  cfg.numAttrs = pdl ? 1 : 0;
  return cfg;
}

void launch_scores(const RouterParams& p, cudaStream_t stream) {
  cudaLaunchAttribute attr;
  auto cfg = make_config(p.tokens, stream, &attr, /*pdl=*/false);
  CHECK_CUDA(cudaLaunchKernelEx(&cfg, router_scores_kernel, p.hidden, p.scores, p.row_scale, p.hidden_dim, p.num_experts));
}

void launch_bias(const RouterParams& p, cudaStream_t stream) {
  cudaLaunchAttribute attr;
  auto cfg = make_config(p.tokens, stream, &attr, /*pdl=*/true);
  CHECK_CUDA(cudaLaunchKernelEx(&cfg, router_bias_kernel, (const float*)p.scores, (const float*)p.row_scale, p.bias, p.out,
                                p.num_experts));
}

}  // namespace

void fused_router(const RouterParams& p, cudaStream_t stream) {
  launch_scores(p, stream);
  launch_bias(p, stream);
}

int main() {
  RouterParams p{};
  p.tokens = 512;
  p.hidden_dim = 4096;
  p.num_experts = 64;
  float *hidden, *bias;
  CHECK_CUDA(cudaMalloc(&hidden, sizeof(float) * p.tokens * p.hidden_dim));
  CHECK_CUDA(cudaMalloc(&bias, sizeof(float) * p.num_experts));
  CHECK_CUDA(cudaMalloc(&p.scores, sizeof(float) * p.tokens * p.num_experts));
  CHECK_CUDA(cudaMalloc(&p.row_scale, sizeof(float) * p.tokens));
  CHECK_CUDA(cudaMalloc(&p.out, sizeof(float) * p.tokens * p.num_experts));
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMemsetAsync(hidden, 0x3c, sizeof(float) * p.tokens * p.hidden_dim, stream));
  CHECK_CUDA(cudaMemsetAsync(bias, 0, sizeof(float) * p.num_experts, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  p.hidden = hidden;
  p.bias = bias;
  fused_router(p, stream);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  float first = 0.f;
  CHECK_CUDA(cudaMemcpy(&first, p.out, sizeof(float), cudaMemcpyDeviceToHost));
  printf("%f\n", first);
  for (float* q : {hidden, bias, p.scores, p.row_scale, p.out}) CHECK_CUDA(cudaFree(q));
  CHECK_CUDA(cudaStreamDestroy(stream));
  return 0;
}

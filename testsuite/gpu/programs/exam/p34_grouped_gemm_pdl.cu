// Mixture-of-experts layer: the router writes problem offsets, the grouped GEMM follows as a dependent launch.
// Modelled on NVIDIA/cutlass#2760.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUTLASS_CUDA_CHECK(x)                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kExperts = 32, kTokens = 2048, kDim = 128;

namespace arch {
__device__ __forceinline__ void launch_dependent_grids() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ __forceinline__ void wait_on_dependent_grids() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
}  // namespace arch

__global__ void route_tokens(int* first_token, int* count, float* gate, int round, int work) {
  arch::launch_dependent_grids();
  int e = blockIdx.x, t = threadIdx.x;
  float g = 0;
  for (int k = 0; k < work; ++k) g = fmaf(g, 0.9999f, 1e-4f);
  for (int i = t; i < kTokens / kExperts; i += blockDim.x) gate[e * (kTokens / kExperts) + i] = g + round;
  if (t == 0) {
    first_token[e] = ((e + round) % kExperts) * (kTokens / kExperts);
    count[e] = kTokens / kExperts;
  }
}

struct GroupedParams {
  const int* first_token;
  const int* count;
  const float* gate;
  const float* act;
  const float* weight;
  float* out;
};

template <bool kWaits>
__global__ void grouped_gemm(GroupedParams p) {
  if constexpr (kWaits) arch::wait_on_dependent_grids();
  const int e = blockIdx.x, d = threadIdx.x;
  const int first = min(max(p.first_token[e], 0), kTokens - 1);
  const int n = min(max(p.count[e], 0), kTokens - first);
  for (int i = 0; i < n; ++i) {
    float acc = 0;
    for (int k = 0; k < 16; ++k) acc += p.act[(first + i) * kDim + k] * p.weight[e * kDim + d];
    p.out[(first + i) * kDim + d] = acc * p.gate[first + i];
  }
}

class MoeLayer {
 public:
  MoeLayer() {
    CUTLASS_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    alloc(first_, kExperts), alloc(count_, kExperts), alloc(gate_, kTokens);
    alloc(act_, kTokens * kDim), alloc(weight_, kExperts * kDim), alloc(out_, kTokens * kDim);
    CUTLASS_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
  ~MoeLayer() {
    cudaStreamSynchronize(stream_);
    cudaFree(first_), cudaFree(count_), cudaFree(gate_), cudaFree(act_), cudaFree(weight_), cudaFree(out_);
    cudaStreamDestroy(stream_);
  }
  void forward(int round) {
    route_tokens<<<kExperts, 64, 0, stream_>>>(first_, count_, gate_, round, 300000);
    CUTLASS_CUDA_CHECK(cudaGetLastError());
    cudaLaunchAttribute attr;
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(kExperts);
    cfg.blockDim = dim3(kDim);
    cfg.stream = stream_;
    cfg.attrs = &attr;
    cfg.numAttrs = 1;
    GroupedParams p{first_, count_, gate_, act_, weight_, out_};
#ifdef FIXED
    CUTLASS_CUDA_CHECK(cudaLaunchKernelEx(&cfg, grouped_gemm<true>, p));
#else
    CUTLASS_CUDA_CHECK(cudaLaunchKernelEx(&cfg, grouped_gemm<false>, p));
#endif
  }
  float result() {
    float h;
    CUTLASS_CUDA_CHECK(cudaStreamSynchronize(stream_));
    CUTLASS_CUDA_CHECK(cudaMemcpy(&h, out_, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  template <class T>
  void alloc(T*& p, size_t n) {
    CUTLASS_CUDA_CHECK(cudaMalloc(&p, n * sizeof(T)));
    CUTLASS_CUDA_CHECK(cudaMemsetAsync(p, 0, n * sizeof(T), stream_));
  }
  cudaStream_t stream_{};
  int *first_{}, *count_{};
  float *gate_{}, *act_{}, *weight_{}, *out_{};
};

int main() {
  MoeLayer layer;
  for (int round = 0; round < 4; ++round) layer.forward(round);
  std::printf("out[0] = %f\n", layer.result());
  CUTLASS_CUDA_CHECK(cudaDeviceSynchronize());
  return 0;
}

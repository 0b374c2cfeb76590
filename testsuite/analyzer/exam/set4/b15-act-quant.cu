// Dynamic per-row activation quantisation: row maxima, then scaled int8 conversion.
// The conversion is launched dependently to hide its ramp-up.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY_CUDA(e)                                                     \
  do {                                                                  \
    cudaError_t r_ = (e);                                               \
    if (r_ != cudaSuccess) {                                            \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r_)); \
      std::exit(EXIT_FAILURE);                                          \
    }                                                                   \
  } while (0)

namespace quant {

constexpr int kThreads = 256;

struct Shape {
  int rows, cols;
};

__device__ __forceinline__ float blockMax(float v) {
  __shared__ float warp[kThreads / 32];
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < kThreads / 32 ? warp[threadIdx.x] : 0.f;
  for (int o = 4; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

__global__ void rowAbsMax(const float* __restrict__ x, float* __restrict__ rowMax, Shape s) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  const float* row = x + size_t(blockIdx.x) * s.cols;
  float m = 0.f;
  for (int c = threadIdx.x; c < s.cols; c += kThreads) m = fmaxf(m, fabsf(row[c]));
  m = blockMax(m);
  if (threadIdx.x == 0) rowMax[blockIdx.x] = m;
}

__global__ void convertRows(const float* __restrict__ x, const float* rowMax, const float* __restrict__ smooth,
                            int8_t* __restrict__ q, float* __restrict__ scale, Shape s) {
  extern __shared__ float colSmooth[];
  for (int c = threadIdx.x; c < s.cols; c += kThreads) colSmooth[c] = smooth[c];
  const float m = rowMax[blockIdx.x];
  const float inv = m > 0.f ? 127.f / m : 0.f;
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const size_t base = size_t(blockIdx.x) * s.cols;
  for (int c = threadIdx.x; c < s.cols; c += kThreads)
    q[base + c] = int8_t(__float2int_rn(x[base + c] * inv * colSmooth[c]));
  if (threadIdx.x == 0) scale[blockIdx.x] = m / 127.f;
}

template <typename... P, typename... A>
void launchDependent(void (*kernel)(P...), dim3 grid, size_t smem, cudaStream_t stream, A... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = grid;
  cfg.blockDim = dim3(kThreads);
  cfg.dynamicSmemBytes = smem;
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  TRY_CUDA(cudaLaunchKernelEx(&cfg, kernel, P(args)...));
}

class ActivationQuantiser {
 public:
  explicit ActivationQuantiser(Shape s) : s_(s) {
    TRY_CUDA(cudaMalloc(&rowMax_, s_.rows * sizeof(float)));
    TRY_CUDA(cudaMalloc(&smooth_, s_.cols * sizeof(float)));
    std::vector<float> ones(s_.cols, 1.f);
    TRY_CUDA(cudaMemcpy(smooth_, ones.data(), s_.cols * sizeof(float), cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
  }
  ~ActivationQuantiser() {
    cudaFree(rowMax_);
    cudaFree(smooth_);
  }

  void run(const float* x, int8_t* q, float* scale, cudaStream_t stream) const {
    rowAbsMax<<<s_.rows, kThreads, 0, stream>>>(x, rowMax_, s_);
    TRY_CUDA(cudaGetLastError());
    launchDependent(convertRows, dim3(s_.rows), s_.cols * sizeof(float), stream, x, rowMax_, smooth_, q, scale, s_);
  }

 private:
  Shape s_;
  float* rowMax_ = nullptr;
  float* smooth_ = nullptr;
};

}  // namespace quant

int main() {
  const quant::Shape s{8192, 4096};
  const size_t elems = size_t(s.rows) * s.cols;
  cudaStream_t stream;
  float *x, *scale;
  int8_t* q;
  TRY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  TRY_CUDA(cudaMalloc(&x, elems * sizeof(float)));
  TRY_CUDA(cudaMalloc(&q, elems));
  TRY_CUDA(cudaMalloc(&scale, s.rows * sizeof(float)));
  {
    quant::ActivationQuantiser quantiser(s);
    for (int step = 0; step < 100; ++step) {
      TRY_CUDA(cudaMemsetAsync(x, step, elems * sizeof(float), stream));
      quantiser.run(x, q, scale, stream);
    }
    TRY_CUDA(cudaStreamSynchronize(stream));
  }
  TRY_CUDA(cudaFree(x));
  TRY_CUDA(cudaFree(q));
  TRY_CUDA(cudaFree(scale));
  TRY_CUDA(cudaStreamDestroy(stream));
}

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

// Two-kernel dynamic quantisation: amax per row, then int8 rows.

namespace quant {
namespace kernel {

__device__ __forceinline__ float warpMax(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

// One warp per row.
__global__ void RowAmaxKernel(const float* __restrict__ x, float* __restrict__ scale, int cols) {
  const float* row = x + size_t(blockIdx.x) * cols;
  float m = 0.f;
  for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, fabsf(row[c]));
  m = warpMax(m);
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  if (threadIdx.x == 0) scale[blockIdx.x] = m > 0.f ? m / 127.f : 1.f;
}

/// Scale of one row, kept in registers.
struct RowScale {
  float scale;
  float inverse;

  __device__ RowScale(const float* scales, int row) : scale(scales[row]), inverse(1.f / scale) {}

  __device__ int8_t operator()(float v) const {
    int q = __float2int_rn(v * inverse);
    return static_cast<int8_t>(max(-127, min(127, q)));
  }
};

template <int kUnroll>
__global__ void QuantizeRowsKernel(const float* __restrict__ x, const float* scales, int8_t* __restrict__ y,
                                   int cols) {
  const float* in = x + size_t(blockIdx.x) * cols;
  int8_t* out = y + size_t(blockIdx.x) * cols;
  RowScale quantize(scales, blockIdx.x);
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  for (int base = threadIdx.x * kUnroll; base < cols; base += blockDim.x * kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (base + u < cols) out[base + u] = quantize(in[base + u]);
    }
  }
}

}  // namespace kernel

inline void Check(cudaError_t st) {
  if (st != cudaSuccess) throw std::runtime_error(cudaGetErrorString(st));
}

template <typename... Params, typename... Args>
void LaunchDependent(void (*fn)(Params...), dim3 grid, dim3 block, cudaStream_t stream, Args... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  cudaLaunchAttribute attrs[1] = {};
  attrs[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attrs[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attrs;
  config.numAttrs = 1;
  Check(cudaLaunchKernelEx(&config, fn, static_cast<Params>(args)...));
}

void DynamicQuantize(const float* x, float* scales, int8_t* y, int rows, int cols, cudaStream_t stream) {
  if (rows == 0 || cols == 0) return;
  kernel::RowAmaxKernel<<<rows, 32, 0, stream>>>(x, scales, cols);
  Check(cudaGetLastError());
  LaunchDependent(kernel::QuantizeRowsKernel<4>, dim3(rows), dim3(128), stream, x, scales, y, cols);
}

}  // namespace quant

// Int8 quantization of activations with one scale per row.  The second kernel is launched as
// a programmatic dependent of the first, to hide its prologue.  For sm_90 and newer.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace quant {

#define QCHECK(x)                                                                     \
  do {                                                                                \
    cudaError_t rc = (x);                                                             \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#x) + " -> " + cudaGetErrorString(rc)); \
  } while (0)

namespace dev {

__device__ __forceinline__ void gridDependencyWait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void gridLaunchDependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// What a thread needs to quantize its part of one row.
struct RowContext {
  float inverse;
  float zeroPoint;
};

__device__ RowContext loadRow(const float* scales, const float* zeroPoints, int row) {
  RowContext context;
  context.inverse = 1.0f / scales[row];
  context.zeroPoint = zeroPoints[row];
  return context;
}

}  // namespace dev

constexpr int kThreads = 128;

__global__ void rowScales(const float* x, int cols, float* scales) {
  dev::gridLaunchDependents();
  __shared__ float best[kThreads];
  const float* row = x + static_cast<std::size_t>(blockIdx.x) * cols;
  float m = 1e-8f;
  for (int c = threadIdx.x; c < cols; c += kThreads) m = fmaxf(m, fabsf(row[c]));
  best[threadIdx.x] = m;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = best[0] / 127.0f;
}

__global__ void quantizeRows(const float* x, int cols, const float* scales, const float* zeroPoints,
                             std::int8_t* q) {
  const std::size_t base = static_cast<std::size_t>(blockIdx.x) * cols;
  const dev::RowContext context = dev::loadRow(scales, zeroPoints, blockIdx.x);
  dev::gridDependencyWait();
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    float v = rintf(x[base + c] * context.inverse + context.zeroPoint);
    q[base + c] = static_cast<std::int8_t>(fminf(fmaxf(v, -127.0f), 127.0f));
  }
}

template <typename... Params, typename... Args>
void launchDependent(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream, Args... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  QCHECK(cudaLaunchKernelEx(&config, kernel, args...));
}

class RowQuantizer {
 public:
  // `zeroPoints` are weights of the model: on the device, complete, never written again.
  RowQuantizer(int rows, int cols, const float* zeroPoints)
      : rows_(rows), cols_(cols), zeroPoints_(zeroPoints) {
    QCHECK(cudaMalloc(reinterpret_cast<void**>(&scales_), rows_ * sizeof(float)));
  }
  ~RowQuantizer() {
    cudaDeviceSynchronize();
    cudaFree(scales_);
  }
  RowQuantizer(const RowQuantizer&) = delete;
  RowQuantizer& operator=(const RowQuantizer&) = delete;

  // One stream per quantizer.
  void run(const float* x, std::int8_t* q, cudaStream_t stream) {
    rowScales<<<rows_, kThreads, 0, stream>>>(x, cols_, scales_);
    QCHECK(cudaGetLastError());
    launchDependent(quantizeRows, dim3(rows_), dim3(kThreads), stream, x, cols_,
                    static_cast<const float*>(scales_), zeroPoints_, q);
  }

 private:
  int rows_, cols_;
  const float* zeroPoints_;
  float* scales_ = nullptr;
};

}  // namespace quant

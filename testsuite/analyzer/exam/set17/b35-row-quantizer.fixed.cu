// Row-wise int8 quantisation of feature matrices: absolute maximum per row, then rounding.
// The rounding kernel has one loader warp and several math warps. Needs sm_90.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define QUANT_CHECK(call)                                                     \
  do {                                                                        \
    const cudaError_t e_ = (call);                                            \
    if (e_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

namespace quant {

constexpr int kWarp = 32;
constexpr int kLoaderWarp = 0;
constexpr int kThreads = 8 * kWarp;
constexpr int kMathThreads = kThreads - kWarp;

__global__ void __launch_bounds__(kThreads)
rowAbsMax(const float* x, float* rowMax, int cols) {
  __shared__ float part[kThreads / kWarp];
  const int row = blockIdx.x;
  float m = 0.f;
  for (int c = threadIdx.x; c < cols; c += kThreads) m = fmaxf(m, fabsf(x[size_t(row) * cols + c]));
  for (int d = kWarp / 2; d > 0; d /= 2) m = fmaxf(m, __shfl_down_sync(0xffffffffu, m, d));
  if (threadIdx.x % kWarp == 0) part[threadIdx.x / kWarp] = m;
  __syncthreads();
  cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kThreads / kWarp; ++w) m = fmaxf(m, part[w]);
    rowMax[row] = m;
  }
}

struct RowTask {
  const float* x;
  const float* rowMax;
  int8_t* q;
  float* scales;
  int cols;
};

// Loader warp: brings one row into shared memory.
__device__ void loadRow(const RowTask& t, float* tile) {
  const float* src = t.x + size_t(blockIdx.x) * t.cols;
  for (int c = threadIdx.x % kWarp; c < t.cols; c += kWarp) tile[c] = src[c];
}

// Math warps: the factor of the row, needed by every thread.
__device__ float rowFactor(const RowTask& t) {
  const float m = fmaxf(t.rowMax[blockIdx.x], 1e-12f);
  return 127.f / m;
}

__device__ void roundRow(const RowTask& t, const float* tile, float factor) {
  const int self = threadIdx.x - kWarp;
  for (int c = self; c < t.cols; c += kMathThreads)
    t.q[size_t(blockIdx.x) * t.cols + c] = static_cast<int8_t>(__float2int_rn(tile[c] * factor));
  if (self == 0) t.scales[blockIdx.x] = 1.f / factor;
}

__global__ void __launch_bounds__(kThreads) roundRows(RowTask t) {
  extern __shared__ float tile[];
  const bool loader = threadIdx.x / kWarp == kLoaderWarp;
  float factor = 0.f;
  cudaGridDependencySynchronize();
  if (loader) {
    loadRow(t, tile);
  } else {
    factor = rowFactor(t);
  }
  __syncthreads();
  if (!loader) roundRow(t, tile, factor);
}

class RowQuantizer {
 public:
  RowQuantizer(int maxRows, int maxCols) : maxRows_(maxRows), maxCols_(maxCols) {
    QUANT_CHECK(cudaMalloc(reinterpret_cast<void**>(&rowMax_), maxRows * sizeof(float)));
    QUANT_CHECK(cudaEventCreateWithFlags(&idle_, cudaEventDisableTiming));
  }
  RowQuantizer(const RowQuantizer&) = delete;
  ~RowQuantizer() {
    cudaEventSynchronize(idle_);
    cudaEventDestroy(idle_);
    cudaFree(rowMax_);
  }

  // All pointers are ordered on `stream`; calls may come with different streams.
  bool quantize(const float* x, int rows, int cols, int8_t* q, float* scales, cudaStream_t stream) {
    if (rows > maxRows_ || cols > maxCols_) return false;
    if (rows == 0 || cols == 0) return true;
    QUANT_CHECK(cudaStreamWaitEvent(stream, idle_, 0));
    rowAbsMax<<<rows, kThreads, 0, stream>>>(x, rowMax_, cols);
    QUANT_CHECK(cudaGetLastError());
    launchRounding(RowTask{x, rowMax_, q, scales, cols}, rows, stream);
    QUANT_CHECK(cudaEventRecord(idle_, stream));
    return true;
  }

 private:
  void launchRounding(const RowTask& task, int rows, cudaStream_t stream) {
    cudaLaunchAttribute overlap[1] = {};
    overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = dim3(rows);
    cfg.blockDim = dim3(kThreads);
    cfg.dynamicSmemBytes = task.cols * sizeof(float);
    cfg.stream = stream;
    cfg.attrs = overlap;
    cfg.numAttrs = 1;
    QUANT_CHECK(cudaLaunchKernelEx(&cfg, roundRows, task));
  }

  int maxRows_, maxCols_;
  float* rowMax_ = nullptr;
  cudaEvent_t idle_ = nullptr;
};

}  // namespace quant

// Row normalisation in two kernels. The second one is launched as a dependent
// launch, so that its set-up overlaps the tail of the first (needs sm_90).
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#define NORM_CHECK(x)                                                                  \
  do {                                                                                 \
    cudaError_t rc = (x);                                                              \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#x) + cudaGetErrorString(rc)); \
  } while (0)

constexpr int kThreads = 128;

struct RowScale {
  float mean;
  float inv;
};

__device__ float blockSum(float v) {
  __shared__ float part[kThreads / 32];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0.0f;
  for (int w = 0; w < kThreads / 32; ++w) total += part[w];
  __syncthreads();
  return total;
}

__global__ void rowScales(const float* x, int cols, float eps, RowScale* scale) {
  cudaTriggerProgrammaticLaunchCompletion();
  const float* row = x + size_t(blockIdx.x) * cols;
  float sum = 0.0f, sq = 0.0f;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    sum += row[c];
    sq += row[c] * row[c];
  }
  sum = blockSum(sum);
  sq = blockSum(sq);
  if (threadIdx.x == 0) {
    float mean = sum / cols;
    scale[blockIdx.x] = RowScale{mean, rsqrtf(sq / cols - mean * mean + eps)};
  }
}

// What a block needs to know before it streams through its row.
struct Prologue {
  RowScale scale;
  const float* in;
  float* out;
};

__device__ Prologue openRow(const float* x, const RowScale* scale, float* y, int cols) {
  Prologue p;
  p.scale = scale[blockIdx.x];
  p.in = x + size_t(blockIdx.x) * cols;
  p.out = y + size_t(blockIdx.x) * cols;
  return p;
}

__global__ void applyScales(const float* x, const RowScale* scale, const float* gain, float* y, int cols) {
  extern __shared__ float gainCache[];
  for (int c = threadIdx.x; c < cols; c += kThreads) gainCache[c] = gain[c];
  __syncthreads();
  cudaGridDependencySynchronize();
  Prologue row = openRow(x, scale, y, cols);
  for (int c = threadIdx.x; c < cols; c += kThreads)
    row.out[c] = (row.in[c] - row.scale.mean) * row.scale.inv * gainCache[c];
}

template <typename... Params, typename... Args>
void launchDependent(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attr;
  config.numAttrs = 1;
  NORM_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

// Gains are constant for the lifetime of the object; x and y do not overlap.
class RowNorm {
 public:
  RowNorm(const float* gain, int maxRows, int cols) : gain_(gain), maxRows_(maxRows), cols_(cols) {
    NORM_CHECK(cudaMalloc(&scale_, sizeof(RowScale) * maxRows));
  }
  ~RowNorm() {
    cudaDeviceSynchronize();
    cudaFree(scale_);
  }
  RowNorm(const RowNorm&) = delete;
  RowNorm& operator=(const RowNorm&) = delete;

  // All calls use one stream.
  void forward(const float* x, float* y, int rows, cudaStream_t stream) {
    if (rows > maxRows_) throw std::invalid_argument("rows");
    rowScales<<<rows, kThreads, 0, stream>>>(x, cols_, 1e-5f, scale_);
    NORM_CHECK(cudaGetLastError());
    const RowScale* scale = scale_;
    launchDependent(applyScales, dim3(rows), dim3(kThreads), sizeof(float) * cols_, stream, x, scale, gain_, y, cols_);
  }

 private:
  const float* gain_;
  int maxRows_, cols_;
  RowScale* scale_ = nullptr;
};

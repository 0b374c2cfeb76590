// Launch-latency benchmark of a small recurrent cell. The three kernels of a step are launched with programmatic
// dependent launch, so that the prologue of one runs in the shadow of the other; compares with plain launches.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define CK(x)                                                                               \
  do {                                                                                      \
    cudaError_t rc_ = (x);                                                                  \
    if (rc_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));     \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

constexpr int kWidth = 1024;
constexpr int kThreads = 128;

__device__ inline void wait_for_producers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

__device__ inline void allow_consumers() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// The weights are constant during a run and may be touched before the wait; states may not.
__global__ void recur(const float* weights, const float* state, float* mixed) {
  __shared__ float row[kThreads];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  row[threadIdx.x] = weights[i];
  __syncthreads();
  wait_for_producers();
  allow_consumers();
  float acc = 0.0f;
  for (int k = 0; k < kThreads; ++k) acc += row[k] * state[(i + k) % kWidth];
  mixed[i] = acc;
}

__global__ void gate(const float* bias, const float* mixed, float* gated) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float b = bias[i];
  wait_for_producers();
  allow_consumers();
  gated[i] = tanhf(mixed[i] + b);
}

__global__ void blend(const float* gated, const float* state, float* next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  wait_for_producers();
  allow_consumers();
  next[i] = 0.5f * (gated[i] + state[i]);
}

template <typename... Params, typename... Args>
static void launch(void (*kernel)(Params...), cudaStream_t stream, bool dependent, Args&&... args) {
  cudaLaunchAttribute attr = {};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = dependent ? 1 : 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kWidth / kThreads);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attr;
  config.numAttrs = 1;
  CK(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class Cell {
 public:
  explicit Cell(bool dependent) : dependent_(dependent) {
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CK(cudaEventCreate(&begin_));
    CK(cudaEventCreate(&end_));
    CK(cudaMalloc(&memory_, 6 * kWidth * sizeof(float)));
    weights_ = memory_;
    bias_ = memory_ + kWidth;
    state_ = memory_ + 2 * kWidth;
    next_ = memory_ + 3 * kWidth;
    mixed_ = memory_ + 4 * kWidth;
    gated_ = memory_ + 5 * kWidth;
    std::vector<float> init(6 * kWidth, 0.0f);
    for (int i = 0; i < 3 * kWidth; ++i) init[i] = static_cast<float>(i % 17) / 1700.0f;
    CK(cudaMemcpyAsync(memory_, init.data(), init.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CK(cudaStreamSynchronize(stream_));
  }
  ~Cell() {
    CK(cudaStreamSynchronize(stream_));
    cudaFree(memory_);
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(stream_);
  }
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  void run(int steps) {
    CK(cudaEventRecord(begin_, stream_));
    for (int s = 0; s < steps; ++s) step();
    CK(cudaEventRecord(end_, stream_));
  }

  // Waits for the last run and returns its state.
  std::vector<float> state(float* milliseconds) {
    std::vector<float> host(kWidth);
    CK(cudaMemcpyAsync(host.data(), state_, kWidth * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    CK(cudaStreamSynchronize(stream_));
    CK(cudaEventElapsedTime(milliseconds, begin_, end_));
    return host;
  }

 private:
  void step() {
    launch(recur, stream_, dependent_, weights_, state_, mixed_);
    launch(gate, stream_, dependent_, bias_, mixed_, gated_);
    launch(blend, stream_, dependent_, gated_, state_, next_);
    std::swap(state_, next_);
  }

  bool dependent_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  float *memory_ = nullptr, *weights_, *bias_, *state_, *next_, *mixed_, *gated_;
};

int main() {
  Cell plain(false), chained(true);
  plain.run(1000);
  chained.run(1000);
  float plain_ms = 0.0f, chained_ms = 0.0f;
  std::vector<float> a = plain.state(&plain_ms), b = chained.state(&chained_ms);
  bool same = std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  std::printf("plain %.3f ms, dependent %.3f ms, results %s\n", plain_ms, chained_ms, same ? "equal" : "DIFFERENT");
  return same ? 0 : 1;
}

// Order-book features for a market-data replay.  Three short kernels per tick, launched as a chain in which
// each may be scheduled early.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define CU_ASSERT(call)                                                          \
  do {                                                                           \
    cudaError_t r = (call);                                                      \
    if (r != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r));    \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int kLevels = 1024;
constexpr int kBlock = 128;

struct Level {
  float price;
  float size;
};

__global__ void apply_updates(const Level* updates, Level* book) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (updates[i].size >= 0.f) book[i] = updates[i];
  __threadfence();
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void imbalance(const Level* book, float* partial) {
  __shared__ float acc[kBlock];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sign = i < kLevels / 2 ? 1.f : -1.f;
  float decay = 1.f / (1.f + 0.01f * (i < kLevels / 2 ? kLevels / 2 - i : i - kLevels / 2));

  cudaGridDependencySynchronize();
  acc[threadIdx.x] = sign * decay * book[i].size;
  __syncthreads();
  for (int s = kBlock / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) acc[threadIdx.x] += acc[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = acc[0];
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void blend_signal(const float* partial, float* history, int tick) {
  cudaGridDependencySynchronize();
  float sum = 0.f;
  for (int b = 0; b < kLevels / kBlock; ++b) sum += partial[b];
  history[tick] = tick > 0 ? 0.9f * history[tick - 1] + 0.1f * sum : sum;
}

template <typename... Params, typename... Args>
void launch_early(void (*kernel)(Params...), int grid, int block, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(block);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  CU_ASSERT(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class FeatureEngine {
 public:
  explicit FeatureEngine(int ticks) : ticks_(ticks) {
    CU_ASSERT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU_ASSERT(cudaMalloc(&updates_, sizeof(Level) * kLevels));
    CU_ASSERT(cudaMalloc(&book_, sizeof(Level) * kLevels));
    CU_ASSERT(cudaMalloc(&partial_, sizeof(float) * (kLevels / kBlock)));
    CU_ASSERT(cudaMalloc(&history_, sizeof(float) * ticks));
    CU_ASSERT(cudaMemsetAsync(book_, 0, sizeof(Level) * kLevels, stream_));
  }
  ~FeatureEngine() {
    CU_ASSERT(cudaStreamSynchronize(stream_));
    cudaFree(history_);
    cudaFree(partial_);
    cudaFree(book_);
    cudaFree(updates_);
    cudaStreamDestroy(stream_);
  }
  FeatureEngine(const FeatureEngine&) = delete;
  FeatureEngine& operator=(const FeatureEngine&) = delete;

  void on_tick(const Level* pinned_updates) {
    CU_ASSERT(cudaMemcpyAsync(updates_, pinned_updates, sizeof(Level) * kLevels, cudaMemcpyHostToDevice, stream_));
    apply_updates<<<kLevels / kBlock, kBlock, 0, stream_>>>(updates_, book_);
    CU_ASSERT(cudaGetLastError());
    launch_early(imbalance, kLevels / kBlock, kBlock, stream_, book_, partial_);
    launch_early(blend_signal, 1, 1, stream_, partial_, history_, tick_++);
  }

  void read(float* pinned_history) {
    CU_ASSERT(cudaMemcpyAsync(pinned_history, history_, sizeof(float) * ticks_, cudaMemcpyDeviceToHost, stream_));
    CU_ASSERT(cudaStreamSynchronize(stream_));
  }

 private:
  int ticks_;
  int tick_ = 0;
  cudaStream_t stream_ = nullptr;
  Level *updates_ = nullptr, *book_ = nullptr;
  float *partial_ = nullptr, *history_ = nullptr;
};

int main() {
  constexpr int kTicks = 300;
  Level* updates = nullptr;
  float* history = nullptr;
  CU_ASSERT(cudaMallocHost(&updates, sizeof(Level) * kLevels * kTicks));
  CU_ASSERT(cudaMallocHost(&history, sizeof(float) * kTicks));
  for (int i = 0; i < kLevels * kTicks; ++i) updates[i] = {100.f + 0.01f * (i % kLevels), float((i * 31) % 97) - 20.f};
  {
    FeatureEngine engine(kTicks);
    for (int t = 0; t < kTicks; ++t) engine.on_tick(updates + t * kLevels);
    engine.read(history);
  }
  std::printf("final signal %.4f\n", history[kTicks - 1]);
  CU_ASSERT(cudaFreeHost(history));
  CU_ASSERT(cudaFreeHost(updates));
  return 0;
}

// Single-pulse search: de-dispersion followed by boxcar filters of growing
// width. The kernels are chained with programmatic dependent launch so that
// the prologue of one overlaps the tail of the one before.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define CUDA_TRY(x)                                                        \
  do {                                                                     \
    cudaError_t t_ = (x);                                                  \
    if (t_ != cudaSuccess) {                                               \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(t_));  \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

namespace pulse {

constexpr int kThreads = 256;
constexpr int kMaxWidth = 32;

struct Tile {
  float sample[2];
};

__device__ inline Tile load_tile(const float* series, int i, int n) {
  Tile t;
  t.sample[0] = i < n ? series[i] : 0.f;
  t.sample[1] = i + kThreads < n ? series[i + kThreads] : 0.f;
  return t;
}

__global__ void dedisperse(const unsigned char* filterbank, const int* delays, int channels, int n, float* series) {
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.f;
    for (int c = 0; c < channels; ++c) sum += filterbank[c * n + (i + delays[c]) % n];
    series[i] = sum / channels;
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void boxcar(const float* series, int n, int width, float* filtered, float* best) {
  __shared__ float window[2 * kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const Tile tile = load_tile(series, i, n);
  window[threadIdx.x] = tile.sample[0];
  window[threadIdx.x + kThreads] = tile.sample[1];
  __syncthreads();

  float sum = 0.f;
  for (int k = 0; k < width; ++k) sum += window[threadIdx.x + k];

  cudaGridDependencySynchronize();
  if (i < n) {
    filtered[i] = sum;
    best[i] = fmaxf(best[i], sum * rsqrtf(static_cast<float>(width)));
  }
}

template <typename... Params, typename... Args>
void launch_chained(void (*kernel)(Params...), int blocks, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_TRY(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class Search {
 public:
  Search(int channels, int n) : channels_(channels), n_(n) {
    CUDA_TRY(cudaStreamCreate(&stream_));
    allocate(filterbank_, static_cast<std::size_t>(channels) * n);
    allocate(delays_, channels);
    allocate(series_, n);
    allocate(filtered_, n);
    allocate(best_, n);
  }
  ~Search() {
    CUDA_TRY(cudaStreamSynchronize(stream_));
    CUDA_TRY(cudaFree(filterbank_));
    CUDA_TRY(cudaFree(delays_));
    CUDA_TRY(cudaFree(series_));
    CUDA_TRY(cudaFree(filtered_));
    CUDA_TRY(cudaFree(best_));
    CUDA_TRY(cudaStreamDestroy(stream_));
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  void trial(int width) {
    const int blocks = (n_ + kThreads - 1) / kThreads;
    launch_chained(dedisperse, blocks, stream_, filterbank_, delays_, channels_, n_, series_);
    launch_chained(boxcar, blocks, stream_, series_, n_, width, filtered_, best_);
  }

  void wait() { CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  template <typename T>
  void allocate(T*& p, std::size_t count) {
    CUDA_TRY(cudaMalloc(reinterpret_cast<void**>(&p), count * sizeof(T)));
    CUDA_TRY(cudaMemsetAsync(p, 0, count * sizeof(T), stream_));
  }

  int channels_, n_;
  cudaStream_t stream_ = nullptr;
  unsigned char* filterbank_ = nullptr;
  int* delays_ = nullptr;
  float *series_ = nullptr, *filtered_ = nullptr, *best_ = nullptr;
};

}  // namespace pulse

int main() {
  pulse::Search search(64, 1 << 18);
  for (int width = 1; width <= pulse::kMaxWidth; width *= 2) search.trial(width);
  search.wait();
  return 0;
}

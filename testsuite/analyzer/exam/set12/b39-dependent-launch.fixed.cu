// Two-pass exposure control for a high-speed line camera: pass one measures, pass two applies the gain.
// Lines arrive every 20 us, so the second kernel is launched as a dependent of the first.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_REQUIRE(call)                                                          \
  do {                                                                              \
    cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(rc_));         \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

constexpr int kWidth = 16384;
constexpr int kTile = 256;
constexpr int kTiles = kWidth / kTile;

__global__ void measure(const unsigned short* line, float* tile_mean) {
  __shared__ float part[kTile];
  part[threadIdx.x] = line[blockIdx.x * kTile + threadIdx.x];
  __syncthreads();
  for (int s = kTile / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) tile_mean[blockIdx.x] = part[0] / kTile;
  cudaTriggerProgrammaticLaunchCompletion();
}

__device__ float smooth_gain(const float* tile_mean, int tile) {
  float sum = 0.f;
  for (int t = tile - 2; t <= tile + 2; ++t) sum += tile_mean[t < 0 ? 0 : (t >= kTiles ? kTiles - 1 : t)];
  return 20000.f / (sum / 5.f + 1.f);
}

__global__ void apply_gain(const unsigned short* line, const float* tile_mean, float* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  float dark = 64.f + 8.f * (x & 1);
  cudaGridDependencySynchronize();
  float g = smooth_gain(tile_mean, blockIdx.x);
  out[x] = (line[x] - dark) * g;
}

// Launches `kernel` so that it may begin while its predecessor in the stream drains.
template <typename... Params, typename... Args>
void launch_dependent(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_REQUIRE(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class LineProcessor {
 public:
  LineProcessor() {
    CUDA_REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_REQUIRE(cudaMalloc(&line_, kWidth * sizeof(unsigned short)));
    CUDA_REQUIRE(cudaMalloc(&tile_mean_, kTiles * sizeof(float)));
    CUDA_REQUIRE(cudaMalloc(&out_, kWidth * sizeof(float)));
  }
  ~LineProcessor() {
    CUDA_REQUIRE(cudaStreamSynchronize(stream_));
    cudaFree(out_);
    cudaFree(tile_mean_);
    cudaFree(line_);
    cudaStreamDestroy(stream_);
  }
  LineProcessor(const LineProcessor&) = delete;
  LineProcessor& operator=(const LineProcessor&) = delete;

  void process(const unsigned short* pinned_line, float* pinned_out) {
    CUDA_REQUIRE(cudaMemcpyAsync(line_, pinned_line, kWidth * sizeof(unsigned short), cudaMemcpyHostToDevice, stream_));
    measure<<<kTiles, kTile, 0, stream_>>>(line_, tile_mean_);
    CUDA_REQUIRE(cudaGetLastError());
    launch_dependent(apply_gain, dim3(kTiles), dim3(kTile), stream_, line_, tile_mean_, out_);
    CUDA_REQUIRE(cudaMemcpyAsync(pinned_out, out_, kWidth * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }

  void wait() { CUDA_REQUIRE(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  unsigned short* line_ = nullptr;
  float* tile_mean_ = nullptr;
  float* out_ = nullptr;
};

int main() {
  constexpr int kLines = 500;
  unsigned short* lines = nullptr;
  float* corrected = nullptr;
  CUDA_REQUIRE(cudaMallocHost(&lines, std::size_t(kLines) * kWidth * sizeof(unsigned short)));
  CUDA_REQUIRE(cudaMallocHost(&corrected, std::size_t(kLines) * kWidth * sizeof(float)));
  for (std::size_t i = 0; i < std::size_t(kLines) * kWidth; ++i) lines[i] = static_cast<unsigned short>(500 + i % 3000);
  {
    LineProcessor processor;
    for (int l = 0; l < kLines; ++l) processor.process(lines + std::size_t(l) * kWidth, corrected + std::size_t(l) * kWidth);
    processor.wait();
  }
  double mean = 0;
  for (std::size_t i = 0; i < std::size_t(kLines) * kWidth; ++i) mean += corrected[i];
  std::printf("mean level %.1f\n", mean / (double(kLines) * kWidth));
  CUDA_REQUIRE(cudaFreeHost(corrected));
  CUDA_REQUIRE(cudaFreeHost(lines));
  return 0;
}

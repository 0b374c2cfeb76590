// Imaging: visibilities are weighted, gridded and apodised by kernels chained
// with programmatic dependent launch. Tables are uploaded once.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_TRY(x)                                                       \
  do {                                                                    \
    cudaError_t t_ = (x);                                                 \
    if (t_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(t_)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

namespace uvgrid {

constexpr int kThreads = 128;

__device__ inline float load_taper(const float* taper, int i, int n) { return i < n ? taper[i] : 0.f; }

__global__ void weight(const float2* raw, const float* weights, int n, float2* weighted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float w = i < n ? weights[i] : 0.f;
  cudaGridDependencySynchronize();
  if (i < n) weighted[i] = make_float2(w * raw[i].x, w * raw[i].y);
  cudaTriggerProgrammaticLaunchCompletion();
}

template <bool kAccumulate>
__global__ void grid_cells(const float2* weighted, int n, float2* grid, int cells) {
  cudaGridDependencySynchronize();
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cells) {
    float2 sum = make_float2(0.f, 0.f);
    if constexpr (kAccumulate) sum = grid[c];
    for (int i = c; i < n; i += cells) {
      sum.x += weighted[i].x;
      sum.y += weighted[i].y;
    }
    grid[c] = sum;
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void apodise(const float2* grid, const float* taper, int cells, float2* image) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const float t = load_taper(taper, c, cells);
  cudaGridDependencySynchronize();
  if (c < cells) image[c] = make_float2(t * grid[c].x, t * grid[c].y);
}

template <typename... Params, typename... Args>
void launch_early(void (*kernel)(Params...), int n, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((n + kThreads - 1) / kThreads);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_TRY(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class Imager {
 public:
  Imager(int visibilities, int cells) : n_(visibilities), cells_(cells) {
    CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    upload(weights_, std::vector<float>(n_, 0.5f));
    upload(taper_, std::vector<float>(cells_, 0.9f));
    upload(raw_, std::vector<float2>(n_, make_float2(1.f, 0.f)));
    upload(weighted_, std::vector<float2>(n_));
    upload(grid_, std::vector<float2>(cells_));
    upload(image_, std::vector<float2>(cells_));
  }
  ~Imager() {
    CUDA_TRY(cudaStreamSynchronize(stream_));
    for (float* p : {weights_, taper_}) CUDA_TRY(cudaFree(p));
    for (float2* p : {raw_, weighted_, grid_, image_}) CUDA_TRY(cudaFree(p));
    CUDA_TRY(cudaStreamDestroy(stream_));
  }
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;

  void add_snapshot(bool first) {
    launch_early(weight, n_, stream_, raw_, weights_, n_, weighted_);
    launch_early(first ? grid_cells<false> : grid_cells<true>, cells_, stream_, weighted_, n_, grid_, cells_);
    launch_early(apodise, cells_, stream_, grid_, taper_, cells_, image_);
  }

  float2 centre() {
    float2 value;
    CUDA_TRY(cudaMemcpyAsync(&value, image_ + cells_ / 2, sizeof(value), cudaMemcpyDeviceToHost, stream_));
    CUDA_TRY(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  template <typename T>
  void upload(T*& p, const std::vector<T>& values) {
    CUDA_TRY(cudaMalloc(reinterpret_cast<void**>(&p), values.size() * sizeof(T)));
    CUDA_TRY(cudaMemcpyAsync(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream_));
    CUDA_TRY(cudaStreamSynchronize(stream_));
  }

  int n_, cells_;
  cudaStream_t stream_ = nullptr;
  float *weights_ = nullptr, *taper_ = nullptr;
  float2 *raw_ = nullptr, *weighted_ = nullptr, *grid_ = nullptr, *image_ = nullptr;
};

}  // namespace uvgrid

int main() {
  uvgrid::Imager imager(1 << 16, 1 << 12);
  for (int s = 0; s < 20; ++s) imager.add_snapshot(s == 0);
  const float2 c = imager.centre();
  std::printf("%f %f\n", c.x, c.y);
  return 0;
}

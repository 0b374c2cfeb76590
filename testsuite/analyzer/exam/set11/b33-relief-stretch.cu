// Relief shading with automatic contrast for the tile server.
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace relief {

#define RELIEF_CHECK(expr)                                                                        \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr int kReduceBlocks = 64;
constexpr int kReduceThreads = 256;

__global__ void hillshade(const float* height, float* shade, int width, int rows, float scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= rows) return;
  int xr = min(x + 1, width - 1), yd = min(y + 1, rows - 1);
  float gx = (height[y * width + xr] - height[y * width + x]) * scale;
  float gy = (height[yd * width + x] - height[y * width + x]) * scale;
  shade[y * width + x] = (1.f - gx - gy) * rsqrtf(3.f * (1.f + gx * gx + gy * gy));
}

__global__ void minMaxPartial(const float* v, int n, float2* partial) {
  __shared__ float2 part[kReduceThreads];
  float2 m = make_float2(FLT_MAX, -FLT_MAX);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    m = make_float2(fminf(m.x, v[i]), fmaxf(m.y, v[i]));
  part[threadIdx.x] = m;
  __syncthreads();
  for (int s = kReduceThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) {
      float2 o = part[threadIdx.x + s];
      part[threadIdx.x] = make_float2(fminf(part[threadIdx.x].x, o.x), fmaxf(part[threadIdx.x].y, o.y));
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = part[0];
}

__global__ void toBytes(const float* v, int n, float low, float gain, std::uint8_t* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<std::uint8_t>(fminf(fmaxf((v[i] - low) * gain, 0.f), 255.f));
}

struct Range {
  float low, high;
};

// Scratch memory of one worker.
struct Scratch {
  float* shade = nullptr;
  float2* partial = nullptr;

  explicit Scratch(std::size_t pixels) {
    RELIEF_CHECK(cudaMalloc(reinterpret_cast<void**>(&shade), pixels * sizeof(float)));
    RELIEF_CHECK(cudaMalloc(reinterpret_cast<void**>(&partial), kReduceBlocks * sizeof(float2)));
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() {
    cudaFree(shade);
    cudaFree(partial);
  }
};

Range findRange(const float* values, int n, Scratch& scratch, cudaStream_t stream) {
  minMaxPartial<<<kReduceBlocks, kReduceThreads, 0, stream>>>(values, n, scratch.partial);
  RELIEF_CHECK(cudaGetLastError());
  float2 host[kReduceBlocks];
  RELIEF_CHECK(cudaMemcpy(host, scratch.partial, sizeof host, cudaMemcpyDeviceToHost));
  Range r{host[0].x, host[0].y};
  for (const float2& p : host) {
    r.low = std::min(r.low, p.x);
    r.high = std::max(r.high, p.y);
  }
  return r;
}

void stretch(const float* values, int n, Range r, std::uint8_t* out, cudaStream_t stream) {
  const float gain = r.high > r.low ? 255.f / (r.high - r.low) : 0.f;
  toBytes<<<(n + 255) / 256, 256, 0, stream>>>(values, n, r.low, gain, out);
  RELIEF_CHECK(cudaGetLastError());
}

// A worker of the tile server: shades one tile after another on a stream of its own.
class Worker {
 public:
  Worker(int width, int rows) : width_(width), rows_(rows), scratch_(static_cast<std::size_t>(width) * rows) {
    RELIEF_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RELIEF_CHECK(cudaEventCreateWithFlags(&input_, cudaEventDisableTiming));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(input_);
    cudaStreamDestroy(stream_);
  }

  // `height` was produced on `producer`; `image` may be read by the host when this returns.
  void shade(const float* height, std::uint8_t* image, cudaStream_t producer) {
    RELIEF_CHECK(cudaEventRecord(input_, producer));
    RELIEF_CHECK(cudaStreamWaitEvent(stream_, input_, 0));
    const int n = width_ * rows_;
    hillshade<<<dim3((width_ + 255) / 256, rows_), 256, 0, stream_>>>(height, scratch_.shade, width_, rows_, 0.5f);
    RELIEF_CHECK(cudaGetLastError());
    const Range r = findRange(scratch_.shade, n, scratch_, stream_);
    stretch(scratch_.shade, n, r, image, stream_);
    RELIEF_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  int width_, rows_;
  Scratch scratch_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t input_ = nullptr;
};

void shadeAll(const std::vector<const float*>& heights, std::vector<std::uint8_t*>& images, int width, int rows,
              cudaStream_t producer) {
  Worker worker(width, rows);
  for (std::size_t i = 0; i < heights.size(); ++i) worker.shade(heights[i], images[i], producer);
}

}  // namespace relief

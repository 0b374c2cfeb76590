// Tiles of an image pyramid, one stream per OpenMP thread.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TILE_CUDA(x)                                                          \
  do {                                                                        \
    cudaError_t tile_e = (x);                                                 \
    if (tile_e != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(tile_e)); \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

namespace pyramid {

__global__ void downsample(const uint8_t* in, uint8_t* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w / 2 || y >= h / 2) return;
  const uint8_t* p = in + static_cast<size_t>(2 * y) * w + 2 * x;
  out[static_cast<size_t>(y) * (w / 2) + x] = static_cast<uint8_t>((p[0] + p[1] + p[w] + p[w + 1] + 2) / 4);
}

struct Tile {
  int w, h;
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> half;
};

// Everything that one host thread needs; used by that thread only.
class Lane {
 public:
  explicit Lane(size_t max_pixels) {
    TILE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TILE_CUDA(cudaMalloc(&in_, max_pixels));
    TILE_CUDA(cudaMalloc(&out_, max_pixels / 4));
    TILE_CUDA(cudaMallocHost(&stage_in_, max_pixels));
    TILE_CUDA(cudaMallocHost(&stage_out_, max_pixels / 4));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaFree(in_);
    cudaFree(out_);
    cudaFreeHost(stage_in_);
    cudaFreeHost(stage_out_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;

  void process(Tile& t) {
    const size_t n = static_cast<size_t>(t.w) * t.h;
    const size_t m = static_cast<size_t>(t.w / 2) * (t.h / 2);
    t.half.clear();
    if (m == 0) return;
    for (size_t i = 0; i < n; ++i) stage_in_[i] = t.pixels[i];
    TILE_CUDA(cudaMemcpyAsync(in_, stage_in_, n, cudaMemcpyHostToDevice, stream_));
    dim3 block(32, 8), grid((t.w / 2 + 31) / 32, (t.h / 2 + 7) / 8);
    downsample<<<grid, block, 0, stream_>>>(in_, out_, t.w, t.h);
    TILE_CUDA(cudaGetLastError());
    TILE_CUDA(cudaMemcpyAsync(stage_out_, out_, m, cudaMemcpyDeviceToHost, stream_));
    TILE_CUDA(cudaStreamSynchronize(stream_));
    t.half.assign(stage_out_, stage_out_ + m);
  }

 private:
  cudaStream_t stream_ = nullptr;
  uint8_t *in_ = nullptr, *out_ = nullptr;
  uint8_t *stage_in_ = nullptr, *stage_out_ = nullptr;
};

void build_level(std::vector<Tile>& tiles, int device) {
  size_t largest = 0;
  for (const Tile& t : tiles) largest = std::max<size_t>(largest, static_cast<size_t>(t.w) * t.h);
  if (largest < 4) return;

#pragma omp parallel
  {
    TILE_CUDA(cudaSetDevice(device));
    Lane lane(largest);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < static_cast<int>(tiles.size()); ++i) lane.process(tiles[i]);
  }
}

}  // namespace pyramid

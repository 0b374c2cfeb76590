// Hill shading of a tiled elevation model.  Scratch space for the gradients comes from the
// device's memory pool, so that hundreds of tiles can be in flight.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace terrain {

class GpuError : public std::runtime_error {
 public:
  GpuError(cudaError_t rc, const char* expr)
      : std::runtime_error(std::string(expr) + " failed: " + cudaGetErrorName(rc)) {}
};
#define GPU(expr)                                        \
  do {                                                   \
    const cudaError_t rc_ = (expr);                      \
    if (rc_ != cudaSuccess) throw GpuError(rc_, #expr);  \
  } while (0)

constexpr int kTile = 256;

__global__ void gradients(const float* height, float2* grad) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= kTile) return;
  int xm = max(x - 1, 0), xp = min(x + 1, kTile - 1);
  int ym = max(y - 1, 0), yp = min(y + 1, kTile - 1);
  grad[y * kTile + x] = make_float2(height[y * kTile + xp] - height[y * kTile + xm],
                                    height[yp * kTile + x] - height[ym * kTile + x]);
}

__global__ void shade(const float2* grad, unsigned char* image, float3 sun) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= kTile) return;
  float2 g = grad[y * kTile + x];
  float len = sqrtf(g.x * g.x + g.y * g.y + 1.0f);
  float light = (sun.z - g.x * sun.x - g.y * sun.y) / len;
  image[y * kTile + x] = static_cast<unsigned char>(255.0f * fminf(fmaxf(light, 0.0f), 1.0f));
}

// Memory of one stream.
class StreamHeap {
 public:
  explicit StreamHeap(cudaStream_t stream) : stream_(stream) {}

  void* take(std::size_t bytes) {
    void* p = nullptr;
    GPU(cudaMallocAsync(&p, bytes, stream_));
    return p;
  }

  void give(void* p) noexcept { cudaFreeAsync(p, stream_); }

  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
};

template <typename T>
class Scratch {
 public:
  Scratch(StreamHeap& heap, std::size_t count)
      : heap_(&heap), data_(static_cast<T*>(heap.take(count * sizeof(T)))) {}
  Scratch(Scratch&& other) noexcept : heap_(other.heap_), data_(std::exchange(other.data_, nullptr)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_) heap_->give(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }

 private:
  StreamHeap* heap_;
  T* data_;
};

class TileRenderer {
 public:
  TileRenderer() {
    GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~TileRenderer() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  TileRenderer(const TileRenderer&) = delete;
  TileRenderer& operator=(const TileRenderer&) = delete;

  // Queues one tile; `image` is valid once finish() has returned.
  void render(const float* height, unsigned char* image, float3 sun) {
    StreamHeap heap(stream_);
    Scratch<float2> grad = slope(heap, height);
    const dim3 grid(kTile / 128, kTile);
    shade<<<grid, 128, 0, stream_>>>(grad.data(), image, sun);
    GPU(cudaGetLastError());
  }

  void finish() { GPU(cudaStreamSynchronize(stream_)); }

 private:
  Scratch<float2> slope(StreamHeap& heap, const float* height) {
    Scratch<float2> grad(heap, static_cast<std::size_t>(kTile) * kTile);
    const dim3 grid(kTile / 128, kTile);
    gradients<<<grid, 128, 0, heap.stream()>>>(height, grad.data());
    GPU(cudaGetLastError());
    return grad;
  }

  cudaStream_t stream_ = nullptr;
};

struct Tile {
  const float* height;   // on the device, complete
  unsigned char* image;  // on the device
};

void renderMosaic(const std::vector<Tile>& tiles, float azimuth) {
  TileRenderer renderer;
  const float3 sun = make_float3(cosf(azimuth) * 0.7f, sinf(azimuth) * 0.7f, 0.7f);
  for (const Tile& tile : tiles) renderer.render(tile.height, tile.image, sun);
  renderer.finish();
}

}  // namespace terrain

// Renders image tiles on all GPUs and spools them to the host through a pool of
// pinned slabs.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <vector>

#define CUDA_OK(call)                                                            \
  do {                                                                           \
    const cudaError_t st = (call);                                               \
    if (st != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(st), __LINE__);  \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int kTile = 256;
constexpr size_t kPixels = static_cast<size_t>(kTile) * kTile;

struct Slab {
  uint32_t* pixels = nullptr;
  cudaEvent_t filled = nullptr;
  int tile = -1;
};

// Slabs circulate: free -> being filled by some GPU -> consumed on the host -> free.
class SlabPool {
 public:
  explicit SlabPool(size_t count) : slabs_(count) {
    CUDA_OK(cudaSetDevice(0));
    for (Slab& s : slabs_) {
      CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&s.pixels), kPixels * sizeof(uint32_t), cudaHostAllocPortable));
      CUDA_OK(cudaEventCreateWithFlags(&s.filled, cudaEventDisableTiming));
      free_.push_back(&s);
    }
  }
  ~SlabPool() {
    for (Slab& s : slabs_) {
      cudaEventDestroy(s.filled);
      cudaFreeHost(s.pixels);
    }
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  Slab* acquire() {
    if (free_.empty()) return nullptr;
    Slab* s = free_.front();
    free_.pop_front();
    return s;
  }
  void release(Slab* s) {
    s->tile = -1;
    free_.push_back(s);
  }

 private:
  std::vector<Slab> slabs_;
  std::deque<Slab*> free_;
};

__global__ void trace_tile(uint32_t* out, int tile) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kTile || y >= kTile) return;
  float zr = 0.0f, zi = 0.0f;
  const float cr = (x + tile) * 0.004f - 1.5f, ci = y * 0.004f - 0.5f;
  uint32_t n = 0;
  for (; n < 512 && zr * zr + zi * zi < 4.0f; ++n) {
    const float t = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = t;
  }
  out[y * kTile + x] = n;
}

class Renderer {
 public:
  explicit Renderer(int device) : device_(device) {
    CUDA_OK(cudaSetDevice(device_));
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&frame_), kPixels * sizeof(uint32_t)));
  }
  ~Renderer() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(frame_);
    cudaStreamDestroy(stream_);
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  void render(int tile, Slab* slab) {
    CUDA_OK(cudaSetDevice(device_));
    const dim3 block(16, 16), grid(kTile / 16, kTile / 16);
    trace_tile<<<grid, block, 0, stream_>>>(frame_, tile);
    CUDA_OK(cudaMemcpyAsync(slab->pixels, frame_, kPixels * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_));
    slab->tile = tile;
    cudaEventRecord(slab->filled, stream_);
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  uint32_t* frame_ = nullptr;
};

uint64_t consume(SlabPool& pool, std::deque<Slab*>& pending) {
  Slab* s = pending.front();
  pending.pop_front();
  cudaEventSynchronize(s->filled);
  const uint64_t sum = std::accumulate(s->pixels, s->pixels + kPixels, uint64_t{0});
  pool.release(s);
  return sum;
}

int main() {
  int devices = 0;
  CUDA_OK(cudaGetDeviceCount(&devices));
  uint64_t checksum = 0;
  {
    SlabPool pool(8);
    std::deque<Renderer> renderers;
    for (int d = 0; d < devices; ++d) renderers.emplace_back(d);

    std::deque<Slab*> pending;
    for (int tile = 0; tile < 512; ++tile) {
      Slab* slab = pool.acquire();
      while (slab == nullptr) {
        checksum += consume(pool, pending);
        slab = pool.acquire();
      }
      renderers[tile % devices].render(tile, slab);
      pending.push_back(slab);
    }
    while (!pending.empty()) checksum += consume(pool, pending);
  }
  std::printf("%d GPUs, checksum %llu\n", devices, static_cast<unsigned long long>(checksum));
  return 0;
}

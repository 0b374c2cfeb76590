// Renders the tiles of a mosaic on all GPUs and gathers them on the first one.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <vector>

#define CUDA_OK(call)                                                           \
  do {                                                                          \
    const cudaError_t st = (call);                                              \
    if (st != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s (line %d)\n", cudaGetErrorString(st), __LINE__); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

constexpr int kTile = 512;
constexpr size_t kPixels = static_cast<size_t>(kTile) * kTile;
constexpr int kTiles = 64;

__global__ void paint(uint32_t* out, int tile) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kTile && y < kTile) out[y * kTile + x] = static_cast<uint32_t>((x ^ y) * (tile + 1)) & 0xffu;
}

__global__ void tone_map(uint32_t* mosaic, size_t n) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) mosaic[i] = mosaic[i] * mosaic[i] / 255u;
}

class Painter {
 public:
  explicit Painter(int device) : device_(device) {
    CUDA_OK(cudaSetDevice(device_));
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&delivered_, cudaEventDisableTiming));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&tile_), kPixels * sizeof(uint32_t)));
  }
  ~Painter() {
    CUDA_OK(cudaSetDevice(device_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaFree(tile_));
    CUDA_OK(cudaEventDestroy(delivered_));
    CUDA_OK(cudaStreamDestroy(stream_));
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  void paint_into(uint32_t* mosaic, int mosaic_device, int tile) {
    CUDA_OK(cudaSetDevice(device_));
    const dim3 block(32, 8), grid(kTile / 32, kTile / 8);
    paint<<<grid, block, 0, stream_>>>(tile_, tile);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpyPeerAsync(mosaic + tile * kPixels, mosaic_device, tile_, device_, kPixels * sizeof(uint32_t), stream_));
  }

  // Orders later work of `stream` after everything painted so far.
  void join(cudaStream_t stream) {
    CUDA_OK(cudaSetDevice(device_));
    CUDA_OK(cudaEventRecord(delivered_, stream_));
    CUDA_OK(cudaStreamWaitEvent(stream, delivered_, 0));
  }

  // Orders later painting after `ready`.
  void start_after(cudaEvent_t ready) { CUDA_OK(cudaStreamWaitEvent(stream_, ready, 0)); }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t delivered_ = nullptr;
  uint32_t* tile_ = nullptr;
};

class Mosaic {
 public:
  Mosaic() {
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&idle_, cudaEventDisableTiming));
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&pixels_), bytes()));
    CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&host_), bytes()));
    int devices = 0;
    CUDA_OK(cudaGetDeviceCount(&devices));
    for (int d = 0; d < devices; ++d) painters_.emplace_back(d);
  }
  ~Mosaic() {
    painters_.clear();
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaFree(pixels_));
    CUDA_OK(cudaFreeHost(host_));
    CUDA_OK(cudaEventDestroy(idle_));
    CUDA_OK(cudaStreamDestroy(stream_));
  }
  Mosaic(const Mosaic&) = delete;
  Mosaic& operator=(const Mosaic&) = delete;

  uint64_t frame(int number) {
    for (Painter& p : painters_) p.start_after(idle_);
    for (int t = 0; t < kTiles; ++t) painters_[(t + number) % painters_.size()].paint_into(pixels_, 0, t);
    for (Painter& p : painters_) p.join(stream_);

    CUDA_OK(cudaSetDevice(0));
    const size_t n = kPixels * kTiles;
    tone_map<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream_>>>(pixels_, n);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpyAsync(host_, pixels_, bytes(), cudaMemcpyDeviceToHost, stream_));
    CUDA_OK(cudaEventRecord(idle_, stream_));
    CUDA_OK(cudaEventSynchronize(idle_));
    return std::accumulate(host_, host_ + n, uint64_t{0});
  }

 private:
  size_t bytes() const { return kPixels * kTiles * sizeof(uint32_t); }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t idle_ = nullptr;
  uint32_t* pixels_ = nullptr;
  uint32_t* host_ = nullptr;
  std::deque<Painter> painters_;
};

int main() {
  Mosaic mosaic;
  uint64_t sum = 0;
  for (int f = 0; f < 10; ++f) sum += mosaic.frame(f);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(sum));
  return 0;
}

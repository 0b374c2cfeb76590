// Out-of-core volume viewer: bricks are decompressed on the I/O stream and drawn on the render stream.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#define VOL_CHECK(e)                                                                 \
  do {                                                                               \
    cudaError_t ec = (e);                                                            \
    if (ec != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(ec), __FILE__, __LINE__); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

namespace volume {

constexpr int kBrickEdge = 64;
constexpr size_t kBrickVoxels = size_t(kBrickEdge) * kBrickEdge * kBrickEdge;
constexpr int kFramePixels = 1024 * 768;

class OrderedStream {
 public:
  OrderedStream() {
    VOL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    VOL_CHECK(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming));
  }
  ~OrderedStream() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(mark_);
    cudaStreamDestroy(stream_);
  }
  OrderedStream(const OrderedStream&) = delete;
  OrderedStream& operator=(const OrderedStream&) = delete;

  cudaStream_t get() const { return stream_; }
  void waitFor(OrderedStream& other) {
    VOL_CHECK(cudaEventRecord(other.mark_, other.stream_));
    VOL_CHECK(cudaStreamWaitEvent(stream_, other.mark_, 0));
  }
  void sync() { VOL_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
  cudaEvent_t mark_{};
};

/// Voxels of one brick; storage belongs to the pool of the stream that made it.
class Brick {
 public:
  Brick(OrderedStream& home, uint32_t key) : home_(home), key_(key) {
    VOL_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&voxels_), kBrickVoxels, home_.get()));
  }
  ~Brick() { cudaFreeAsync(voxels_, home_.get()); }
  Brick(const Brick&) = delete;
  Brick& operator=(const Brick&) = delete;

  uint8_t* voxels() const { return voxels_; }
  uint32_t key() const { return key_; }

 private:
  OrderedStream& home_;
  uint32_t key_;
  uint8_t* voxels_ = nullptr;
};

__global__ void decompress(uint8_t* voxels, size_t n, uint32_t key) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) voxels[i] = uint8_t((i * 2654435761u + key) >> 24);
}

__global__ void castRays(const uint8_t* voxels, float* frame, int pixels, float weight) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float acc = 0.f;
  for (int z = 0; z < kBrickEdge; ++z) acc += voxels[(p % (kBrickEdge * kBrickEdge)) + z * kBrickEdge * kBrickEdge];
  frame[p] += weight * acc;
}

/// Keeps the bricks of the current view; the least recently inserted one leaves first.
class BrickCache {
 public:
  BrickCache(OrderedStream& io, size_t capacity) : io_(io), capacity_(capacity) {}

  Brick& fetch(uint32_t key) {
    auto it = bricks_.find(key);
    if (it != bricks_.end()) return *it->second;
    if (bricks_.size() >= capacity_) evictOldest();
    auto brick = std::make_unique<Brick>(io_, key);
    decompress<<<unsigned((kBrickVoxels + 255) / 256), 256, 0, io_.get()>>>(brick->voxels(), kBrickVoxels, key);
    VOL_CHECK(cudaGetLastError());
    order_.push_back(key);
    return *bricks_.emplace(key, std::move(brick)).first->second;
  }

 private:
  void evictOldest() {
    bricks_.erase(order_.front());
    order_.erase(order_.begin());
  }

  OrderedStream& io_;
  size_t capacity_;
  std::map<uint32_t, std::unique_ptr<Brick>> bricks_;
  std::vector<uint32_t> order_;
};

class Renderer {
 public:
  Renderer(OrderedStream& io) : io_(io), cache_(io, 4) {
    VOL_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&frame_), kFramePixels * sizeof(float), render_.get()));
  }
  ~Renderer() {
    cudaFreeAsync(frame_, render_.get());
    render_.sync();
  }
  Renderer(const Renderer&) = delete;

  void drawFrame(const std::vector<uint32_t>& visible) {
    VOL_CHECK(cudaMemsetAsync(frame_, 0, kFramePixels * sizeof(float), render_.get()));
    for (uint32_t key : visible) {
      Brick& brick = cache_.fetch(key);
      render_.waitFor(io_);
      castRays<<<(kFramePixels + 255) / 256, 256, 0, render_.get()>>>(brick.voxels(), frame_, kFramePixels, 1.f / 255);
      VOL_CHECK(cudaGetLastError());
    }
  }

  void finish() { render_.sync(); }

 private:
  OrderedStream& io_;
  OrderedStream render_;
  BrickCache cache_;
  float* frame_ = nullptr;
};

}  // namespace volume

int main() {
  volume::OrderedStream io;
  volume::Renderer renderer(io);
  std::vector<uint32_t> visible{1, 2, 3, 4, 5, 6, 7, 8};
  for (int f = 0; f < 10; ++f) {
    renderer.drawFrame(visible);
    for (auto& key : visible) key += 2;
  }
  renderer.finish();
  std::puts("done");
  return 0;
}

// Panorama stitcher: two pyramids are built side by side, scratch comes from an arena shared by the lanes.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <vector>

#define STITCH_CHECK(c)                                                                      \
  do {                                                                                       \
    cudaError_t r = (c);                                                                     \
    if (r != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "stitch %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(r));  \
      std::abort();                                                                          \
    }                                                                                        \
  } while (0)

namespace stitch {

// Best-fit arena over blocks of device memory. Blocks are never given back to the driver before the end.
class Arena {
 public:
  struct Block {
    void* ptr = nullptr;
    size_t bytes = 0;
    cudaEvent_t lastUse{};
  };

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    cudaDeviceSynchronize();
    for (auto& b : free_) {
      cudaEventDestroy(b.lastUse);
      cudaFree(b.ptr);
    }
  }

  Block acquire(size_t bytes, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->bytes >= bytes && (best == free_.end() || it->bytes < best->bytes)) best = it;
    if (best != free_.end()) {
      Block b = *best;
      free_.erase(best);
      ++hits_;
      return b;
    }
    Block b;
    b.bytes = bytes;
    STITCH_CHECK(cudaMalloc(&b.ptr, bytes));
    STITCH_CHECK(cudaEventCreateWithFlags(&b.lastUse, cudaEventDisableTiming));
    return b;
  }

  void release(const Block& block, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    STITCH_CHECK(cudaEventRecord(block.lastUse, stream));
    free_.push_back(block);
  }

  int hits() const { return hits_; }

 private:
  std::mutex mutex_;
  std::list<Block> free_;
  int hits_ = 0;
};

class Scratch {
 public:
  Scratch(Arena& arena, size_t bytes, cudaStream_t stream)
      : arena_(arena), stream_(stream), block_(arena.acquire(bytes, stream)) {}
  ~Scratch() { arena_.release(block_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* floats() const { return static_cast<float*>(block_.ptr); }

 private:
  Arena& arena_;
  cudaStream_t stream_;
  Arena::Block block_;
};

__global__ void blurRows(const float* src, float* dst, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float l = src[y * w + max(x - 1, 0)], c = src[y * w + x], r = src[y * w + min(x + 1, w - 1)];
  dst[y * w + x] = 0.25f * l + 0.5f * c + 0.25f * r;
}

__global__ void blurColumnsDecimate(const float* src, float* dst, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w / 2) return;
  int sy = 2 * y;
  float u = src[max(sy - 1, 0) * w + 2 * x], c = src[sy * w + 2 * x], d = src[min(sy + 1, h - 1) * w + 2 * x];
  dst[y * (w / 2) + x] = 0.25f * u + 0.5f * c + 0.25f * d;
}

struct Level {
  int w, h;
  float* data;
};

class PyramidLane {
 public:
  PyramidLane(Arena& arena, int w, int h, int levels) : arena_(arena) {
    STITCH_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int l = 0; l < levels; ++l) {
      Level level{w >> l, h >> l, nullptr};
      STITCH_CHECK(cudaMalloc(&level.data, size_t(level.w) * level.h * sizeof(float)));
      levels_.push_back(level);
    }
  }
  ~PyramidLane() {
    cudaStreamSynchronize(stream_);
    for (auto& l : levels_) cudaFree(l.data);
    cudaStreamDestroy(stream_);
  }
  PyramidLane(const PyramidLane&) = delete;

  void load(float brightness) {
    std::vector<float> image(size_t(levels_[0].w) * levels_[0].h, brightness);
    STITCH_CHECK(cudaMemcpyAsync(levels_[0].data, image.data(), image.size() * sizeof(float), cudaMemcpyHostToDevice,
                                 stream_));
    STITCH_CHECK(cudaStreamSynchronize(stream_));
  }

  void reduce(int level) {
    const Level& in = levels_[level];
    const Level& out = levels_[level + 1];
    Scratch rows(arena_, size_t(in.w) * in.h * sizeof(float), stream_);
    blurRows<<<dim3((in.w + 127) / 128, in.h), 128, 0, stream_>>>(in.data, rows.floats(), in.w, in.h);
    blurColumnsDecimate<<<dim3((out.w + 127) / 128, out.h), 128, 0, stream_>>>(rows.floats(), out.data, in.w, in.h);
    STITCH_CHECK(cudaGetLastError());
  }

  void wait() { STITCH_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  Arena& arena_;
  cudaStream_t stream_{};
  std::vector<Level> levels_;
};

}  // namespace stitch

int main() {
  using namespace stitch;
  constexpr int kLevels = 5;
  Arena arena;
  PyramidLane left(arena, 4096, 2048, kLevels), right(arena, 4096, 2048, kLevels);
  left.load(0.2f);
  right.load(0.8f);
  for (int l = 0; l + 1 < kLevels; ++l) {
    left.reduce(l);
    right.reduce(l);
  }
  left.wait();
  right.wait();
  std::printf("arena hits: %d\n", arena.hits());
  return 0;
}

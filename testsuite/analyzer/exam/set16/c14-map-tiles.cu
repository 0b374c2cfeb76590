// Map renderer: tiles are made on the loader's stream, drawn on a view's stream and dropped at any time.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>

#define MAP_CHECK(e)                                                                      \
  do {                                                                                    \
    cudaError_t rc = (e);                                                                 \
    if (rc != cudaSuccess) {                                                              \
      std::fprintf(stderr, "map: %s (%s:%d)\n", cudaGetErrorString(rc), __FILE__, __LINE__); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace map {

constexpr int kTexels = 256 * 256;

struct StreamHandle {
  cudaStream_t stream{};
  StreamHandle() { MAP_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  StreamHandle(const StreamHandle&) = delete;
  ~StreamHandle() {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
};

/// Storage belongs to `home`; every other stream that uses the tile says so.
class Tile {
 public:
  explicit Tile(cudaStream_t home) : home_(home) {
    MAP_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    MAP_CHECK(cudaEventCreateWithFlags(&used_, cudaEventDisableTiming));
    MAP_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&texels_), kTexels * sizeof(std::uint32_t), home_));
  }
  Tile(const Tile&) = delete;
  Tile& operator=(const Tile&) = delete;
  ~Tile() {
    cudaFreeAsync(texels_, home_);
    cudaEventDestroy(used_);
    cudaEventDestroy(ready_);
  }

  std::uint32_t* texels() const { return texels_; }
  void markReady() { MAP_CHECK(cudaEventRecord(ready_, home_)); }

  void beginUse(cudaStream_t user) { MAP_CHECK(cudaStreamWaitEvent(user, ready_, 0)); }
  void endUse(cudaStream_t user) {
    MAP_CHECK(cudaEventRecord(used_, user));
    MAP_CHECK(cudaStreamWaitEvent(home_, used_, 0));
  }

 private:
  cudaStream_t home_;
  cudaEvent_t ready_{};
  cudaEvent_t used_{};
  std::uint32_t* texels_ = nullptr;
};

class UseScope {
 public:
  UseScope(Tile& tile, cudaStream_t user) : tile_(tile), user_(user) { tile_.beginUse(user_); }
  ~UseScope() { tile_.endUse(user_); }
  UseScope(const UseScope&) = delete;

 private:
  Tile& tile_;
  cudaStream_t user_;
};

__global__ void shade(std::uint32_t* texels, int n, std::uint32_t seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) texels[i] = (i * 2246822519u) ^ seed;
}

__global__ void blit(const std::uint32_t* texels, std::uint32_t* canvas, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) canvas[i] = (canvas[i] >> 1) + (texels[i] >> 1);
}

class TileLoader {
 public:
  explicit TileLoader(StreamHandle& stream) : stream_(stream) {}
  std::unique_ptr<Tile> load(std::uint32_t seed) {
    auto tile = std::make_unique<Tile>(stream_.stream);
    shade<<<kTexels / 256, 256, 0, stream_.stream>>>(tile->texels(), kTexels, seed);
    MAP_CHECK(cudaGetLastError());
    tile->markReady();
    return tile;
  }

 private:
  StreamHandle& stream_;
};

class View {
 public:
  View() {
    MAP_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&canvas_), kTexels * sizeof(std::uint32_t), draw_.stream));
    MAP_CHECK(cudaMemsetAsync(canvas_, 0, kTexels * sizeof(std::uint32_t), draw_.stream));
  }
  View(const View&) = delete;
  ~View() { cudaFreeAsync(canvas_, draw_.stream); }

  void draw(Tile& tile) {
    UseScope use(tile, draw_.stream);
    blit<<<kTexels / 256, 256, 0, draw_.stream>>>(tile.texels(), canvas_, kTexels);
    MAP_CHECK(cudaGetLastError());
  }

 private:
  StreamHandle draw_;
  std::uint32_t* canvas_ = nullptr;
};

}  // namespace map

int main() {
  map::StreamHandle io;
  map::TileLoader loader(io);
  map::View overview, detail;
  std::deque<std::unique_ptr<map::Tile>> resident;
  for (std::uint32_t t = 0; t < 32; ++t) {
    resident.push_back(loader.load(t));
    overview.draw(*resident.back());
    if (t % 4 == 0) detail.draw(*resident.back());
    if (resident.size() > 3) resident.pop_front();
  }
  resident.clear();
  MAP_CHECK(cudaDeviceSynchronize());
  return 0;
}

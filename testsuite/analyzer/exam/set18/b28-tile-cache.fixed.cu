// LRU cache of map tiles in device memory. Tiles are paged in from a pinned
// archive on a copy stream and drawn on the renderer's stream.
#include <cuda_runtime.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <unordered_map>
#include <vector>

namespace atlas {

#define GPU(call)                                                            \
  do {                                                                       \
    if (cudaError_t e = (call)) {                                            \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(e)); \
      std::abort();                                                          \
    }                                                                        \
  } while (0)

using TileKey = std::uint32_t;
constexpr int kEdge = 256;
constexpr std::size_t kTileBytes = std::size_t(kEdge) * kEdge * 4;

__global__ void blend(const uchar4* tile, uchar4* frame, int pitch, int x0, int y0, float alpha) {
  int x = threadIdx.x, y = blockIdx.x;
  uchar4 t = tile[y * kEdge + x];
  uchar4& d = frame[(y0 + y) * pitch + x0 + x];
  auto mix = [alpha](unsigned char a, unsigned char b) {
    return static_cast<unsigned char>(a + alpha * (float(b) - float(a)));
  };
  d = make_uchar4(mix(d.x, t.x), mix(d.y, t.y), mix(d.z, t.z), 255);
}

class Fence {
 public:
  Fence() { GPU(cudaEventCreateWithFlags(&ev_, cudaEventDisableTiming)); }
  ~Fence() { cudaEventDestroy(ev_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  void signal(cudaStream_t s) { GPU(cudaEventRecord(ev_, s)); }
  void await(cudaStream_t s) const { GPU(cudaStreamWaitEvent(s, ev_, 0)); }

 private:
  cudaEvent_t ev_ = nullptr;
};

class TileCache {
 public:
  // `archive` is page-locked and never changes while the cache lives.
  TileCache(const std::byte* archive, int slots) : archive_(archive) {
    GPU(cudaMalloc(&pool_, kTileBytes * slots));
    GPU(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    for (int i = 0; i < slots; ++i) free_.push_back(i);
  }
  ~TileCache() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(copy_);
    cudaFree(pool_);
  }
  TileCache(const TileCache&) = delete;
  TileCache& operator=(const TileCache&) = delete;

  // Makes the tile resident for the work that is queued on `user` between this
  // call and the next one. All calls name the same stream.
  const uchar4* fetch(TileKey key, cudaStream_t user) {
    auto it = index_.find(key);
    if (it != index_.end()) {
      lru_.splice(lru_.begin(), lru_, it->second);
    } else {
      pageIn(key, user);
    }
    loaded_.await(user);
    return at(lru_.front().slot);
  }

 private:
  struct Entry { TileKey key; int slot; };

  uchar4* at(int slot) const { return reinterpret_cast<uchar4*>(pool_ + slot * kTileBytes); }

  int takeSlot() {
    if (free_.empty()) {
      Entry victim = lru_.back();
      index_.erase(victim.key);
      lru_.pop_back();
      return victim.slot;
    }
    int s = free_.back();
    free_.pop_back();
    return s;
  }

  void pageIn(TileKey key, cudaStream_t user) {
    int slot = takeSlot();
    drawn_.signal(user);
    drawn_.await(copy_);
    GPU(cudaMemcpyAsync(at(slot), archive_ + key * kTileBytes, kTileBytes, cudaMemcpyHostToDevice, copy_));
    loaded_.signal(copy_);
    lru_.push_front({key, slot});
    index_[key] = lru_.begin();
  }

  const std::byte* archive_;
  std::byte* pool_ = nullptr;
  cudaStream_t copy_ = nullptr;
  std::vector<int> free_;
  std::list<Entry> lru_;
  std::unordered_map<TileKey, std::list<Entry>::iterator> index_;
  Fence loaded_;
  Fence drawn_;
};

struct Placement { TileKey key; int x, y; float alpha; };

class MapRenderer {
 public:
  MapRenderer(const std::byte* archive, int slots, int pitch) : cache_(archive, slots), pitch_(pitch) {
    GPU(cudaStreamCreateWithFlags(&draw_, cudaStreamNonBlocking));
  }
  ~MapRenderer() {
    cudaStreamSynchronize(draw_);
    cudaStreamDestroy(draw_);
  }

  // Queues one frame; there may be more placements than slots.
  void render(const std::vector<Placement>& scene, uchar4* frame) {
    for (const Placement& p : scene) {
      const uchar4* tile = cache_.fetch(p.key, draw_);
      blend<<<kEdge, kEdge, 0, draw_>>>(tile, frame, pitch_, p.x, p.y, p.alpha);
      GPU(cudaGetLastError());
    }
  }

  void finish() { GPU(cudaStreamSynchronize(draw_)); }

 private:
  TileCache cache_;
  cudaStream_t draw_ = nullptr;
  int pitch_;
};

}  // namespace atlas

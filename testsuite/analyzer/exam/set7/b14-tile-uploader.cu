// Map renderer: vector tiles are written into pinned blocks and uploaded; blocks are recycled.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace tiles {

#define TILES_OK(x)                                                       \
  do {                                                                    \
    cudaError_t e_ = (x);                                                 \
    if (e_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "tiles: %s\n", cudaGetErrorString(e_));        \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

struct PinnedBlock {
  void* data = nullptr;
  size_t bytes = 0;
  cudaEvent_t lastUse = nullptr;
  bool oversize = false;
};

// Blocks of one size are kept in a ring; anything larger goes to the oversize list.
class PinnedPool {
 public:
  explicit PinnedPool(size_t blockBytes) : blockBytes_(blockBytes) {}
  ~PinnedPool() {
    for (const std::unique_ptr<PinnedBlock>& b : all_) {
      TILES_OK(cudaEventSynchronize(b->lastUse));
      TILES_OK(cudaEventDestroy(b->lastUse));
      TILES_OK(cudaFreeHost(b->data));
    }
  }
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // The block may be written by the host as soon as this returns.
  PinnedBlock* take(size_t bytes) {
    if (bytes > blockBytes_) return takeOversize(bytes);
    for (size_t i = 0; i < free_.size(); ++i) {
      if (cudaEventQuery(free_[i]->lastUse) == cudaSuccess) return pop(free_, i);
    }
    return make(blockBytes_, false);
  }

  // Queued work in `stream` may still read the block.
  void give(PinnedBlock* block, cudaStream_t stream) {
    if (block->oversize) {
      oversize_.push_back(block);
      return;
    }
    TILES_OK(cudaEventRecord(block->lastUse, stream));
    free_.push_back(block);
  }

 private:
  PinnedBlock* takeOversize(size_t bytes) {
    for (size_t i = 0; i < oversize_.size(); ++i) {
      if (oversize_[i]->bytes < bytes) continue;
      PinnedBlock* b = pop(oversize_, i);
      TILES_OK(cudaEventSynchronize(b->lastUse));
      return b;
    }
    return make(bytes, true);
  }

  PinnedBlock* make(size_t bytes, bool oversize) {
    auto b = std::make_unique<PinnedBlock>();
    TILES_OK(cudaMallocHost(&b->data, bytes));
    TILES_OK(cudaEventCreateWithFlags(&b->lastUse, cudaEventDisableTiming));
    b->bytes = bytes;
    b->oversize = oversize;
    all_.push_back(std::move(b));
    return all_.back().get();
  }

  static PinnedBlock* pop(std::vector<PinnedBlock*>& list, size_t i) {
    PinnedBlock* b = list[i];
    list.erase(list.begin() + i);
    return b;
  }

  size_t blockBytes_;
  std::vector<std::unique_ptr<PinnedBlock>> all_;
  std::vector<PinnedBlock*> free_;
  std::vector<PinnedBlock*> oversize_;
};

struct Tile {
  uint32_t x, y, zoom;
  std::vector<float2> vertices;
};

struct GpuTile {
  float2* vertices = nullptr;
  size_t count = 0;
};

class TileUploader {
 public:
  TileUploader(PinnedPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  // Allocates device memory for the tile and fills it in the order of the stream.
  GpuTile upload(const Tile& tile) {
    GpuTile out;
    out.count = tile.vertices.size();
    if (out.count == 0) return out;
    const size_t bytes = out.count * sizeof(float2);
    TILES_OK(cudaMallocAsync(&out.vertices, bytes, stream_));
    PinnedBlock* block = pool_.take(bytes);
    std::memcpy(block->data, tile.vertices.data(), bytes);
    TILES_OK(cudaMemcpyAsync(out.vertices, block->data, bytes, cudaMemcpyHostToDevice, stream_));
    pool_.give(block, stream_);
    return out;
  }

  void evict(GpuTile& tile) {
    if (!tile.vertices) return;
    TILES_OK(cudaFreeAsync(tile.vertices, stream_));
    tile = GpuTile{};
  }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_;
};

std::vector<GpuTile> uploadViewport(TileUploader& uploader, const std::vector<Tile>& visible) {
  std::vector<GpuTile> out;
  out.reserve(visible.size());
  for (const Tile& t : visible) out.push_back(uploader.upload(t));
  return out;
}

}  // namespace tiles

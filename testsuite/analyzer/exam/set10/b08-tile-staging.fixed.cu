// Vector-map renderer: tiles are decoded into page-locked staging memory and uploaded in stream order.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace mapgl {

inline void cuda_must(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class StagingPool;

class StagingBlock {
 public:
  StagingBlock(StagingPool& pool, void* data, int slot, cudaStream_t stream)
      : pool_(&pool), data_(data), slot_(slot), stream_(stream) {}
  StagingBlock(StagingBlock&& o) noexcept
      : pool_(std::exchange(o.pool_, nullptr)), data_(o.data_), slot_(o.slot_), stream_(o.stream_) {}
  StagingBlock& operator=(StagingBlock&&) = delete;
  ~StagingBlock();

  void* data() const { return data_; }

 private:
  friend class StagingPool;
  StagingPool* pool_;
  void* data_;
  int slot_;  // -1: outside of the slab
  cudaStream_t stream_;
};

// A slab of equal slots plus plain page-locked allocations when the slab is full or the tile too large.
class StagingPool {
 public:
  StagingPool(int slots, size_t slot_bytes) : slot_bytes_(slot_bytes), slots_(slots) {
    cuda_must(cudaMallocHost(&slab_, slots * slot_bytes));
    for (int i = 0; i < slots; ++i) {
      cuda_must(cudaEventCreateWithFlags(&slots_[i].last_copy, cudaEventDisableTiming));
      slots_[i].taken = false;
    }
  }
  ~StagingPool() {
    for (auto& s : slots_) {
      cudaEventSynchronize(s.last_copy);
      cudaEventDestroy(s.last_copy);
    }
    cudaFreeHost(slab_);
  }
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  // The block may be used by copies on the given stream.
  StagingBlock take(size_t bytes, cudaStream_t stream) {
    if (bytes <= slot_bytes_) {
      std::lock_guard<std::mutex> lock(mutex_);
      for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].taken) continue;
        slots_[i].taken = true;
        cuda_must(cudaEventSynchronize(slots_[i].last_copy));
        return StagingBlock(*this, static_cast<char*>(slab_) + i * slot_bytes_, static_cast<int>(i), stream);
      }
    }
    void* p = nullptr;
    cuda_must(cudaMallocHost(&p, bytes));
    return StagingBlock(*this, p, -1, stream);
  }

  void give_back(StagingBlock& b) {
    if (b.slot_ < 0) {
      cudaStreamSynchronize(b.stream_);
      cudaFreeHost(b.data_);
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    cudaEventRecord(slots_[b.slot_].last_copy, b.stream_);
    slots_[b.slot_].taken = false;
  }

 private:
  struct Slot {
    cudaEvent_t last_copy = nullptr;
    bool taken = false;
  };
  size_t slot_bytes_;
  void* slab_ = nullptr;
  std::vector<Slot> slots_;
  std::mutex mutex_;
};

StagingBlock::~StagingBlock() {
  if (pool_) pool_->give_back(*this);
}

struct EncodedTile {
  int x = 0, y = 0, zoom = 0;
  std::vector<uint8_t> deltas;
};

class TileUploader {
 public:
  TileUploader(StagingPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  // Decodes into staging memory and queues the upload; dst is valid in the order of the uploader's stream.
  void upload(const EncodedTile& tile, int16_t* dst) {
    const size_t bytes = tile.deltas.size() * sizeof(int16_t);
    StagingBlock block = pool_.take(bytes, stream_);
    decode(tile, static_cast<int16_t*>(block.data()));
    cuda_must(cudaMemcpyAsync(dst, block.data(), bytes, cudaMemcpyHostToDevice, stream_));
  }

  void upload_all(const std::vector<EncodedTile>& tiles, const std::vector<int16_t*>& dst) {
    for (size_t i = 0; i < tiles.size(); ++i) upload(tiles[i], dst[i]);
  }

 private:
  static void decode(const EncodedTile& tile, int16_t* out) {
    int16_t value = 0;
    for (size_t i = 0; i < tile.deltas.size(); ++i) {
      value = static_cast<int16_t>(value + static_cast<int8_t>(tile.deltas[i]));
      out[i] = value;
    }
  }

  StagingPool& pool_;
  cudaStream_t stream_;
};

}  // namespace mapgl

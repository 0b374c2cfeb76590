// Occupancy-map tiles of a driving robot. Tiles that leave the local window are decayed once
// more and swapped out to page-locked memory in one batched copy.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace mapping {

inline void raise_on(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define MAP_CALL(x) ::mapping::raise_on((x), #x)

constexpr int kSide = 128;
constexpr std::size_t kTileBytes = kSide * kSide * sizeof(std::int16_t);

using TileId = std::int64_t;
using Cell = std::int16_t;

__global__ void decay_tiles(Cell* const* __restrict__ tiles, int shift) {
  Cell* tile = tiles[blockIdx.x];
  for (int i = threadIdx.x; i < kSide * kSide; i += blockDim.x)
    tile[i] = static_cast<Cell>(tile[i] - (tile[i] >> shift));
}

__global__ void integrate_hits(Cell* __restrict__ tile, const std::uint16_t* __restrict__ cells, int n,
                               Cell weight) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[cells[i]] = static_cast<Cell>(min(int(tile[cells[i]]) + weight, 32767));
}

// Slab of page-locked memory that holds the swapped-out tiles.
class HostStore {
 public:
  explicit HostStore(std::size_t tiles) : capacity_(tiles) {
    MAP_CALL(cudaMallocHost(reinterpret_cast<void**>(&base_), tiles * kTileBytes));
  }
  ~HostStore() { cudaFreeHost(base_); }
  HostStore(const HostStore&) = delete;
  HostStore& operator=(const HostStore&) = delete;

  Cell* place(TileId id) {
    const auto it = index_.find(id);
    if (it != index_.end()) return at(it->second);
    if (index_.size() == capacity_) throw std::length_error("host store is full");
    const std::size_t row = index_.size();
    index_.emplace(id, row);
    return at(row);
  }
  const Cell* find(TileId id) const {
    const auto it = index_.find(id);
    return it == index_.end() ? nullptr : at(it->second);
  }

 private:
  Cell* at(std::size_t row) const { return base_ + row * kSide * kSide; }
  std::size_t capacity_;
  Cell* base_ = nullptr;
  std::unordered_map<TileId, std::size_t> index_;
};

class LocalMap {
 public:
  LocalMap(std::size_t host_tiles, std::size_t max_batch) : store_(host_tiles), max_batch_(max_batch) {
    MAP_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MAP_CALL(cudaMallocHost(reinterpret_cast<void**>(&list_host_), max_batch * sizeof(Cell*)));
    MAP_CALL(cudaMalloc(reinterpret_cast<void**>(&list_dev_), max_batch * sizeof(Cell*)));
  }
  ~LocalMap() {
    cudaStreamSynchronize(stream_);
    for (auto& [id, tile] : tiles_) cudaFree(tile);
    cudaFree(list_dev_);
    cudaFreeHost(list_host_);
    cudaStreamDestroy(stream_);
  }
  LocalMap(const LocalMap&) = delete;
  LocalMap& operator=(const LocalMap&) = delete;

  cudaStream_t stream() const { return stream_; }

  // `cells` is device memory that is in use on stream() only.
  void hit(TileId id, const std::uint16_t* cells, int n, Cell weight) {
    integrate_hits<<<(n + 127) / 128, 128, 0, stream_>>>(tile(id), cells, n, weight);
    MAP_CALL(cudaGetLastError());
  }

  // Moves tiles (each named once) to the host store. They are complete there when the call returns.
  void evict(const std::vector<TileId>& ids) {
    if (ids.empty()) return;
    if (ids.size() > max_batch_) throw std::length_error("eviction batch too large");
    for (std::size_t i = 0; i < ids.size(); ++i) list_host_[i] = tile(ids[i]);
    MAP_CALL(cudaMemcpyAsync(list_dev_, list_host_, ids.size() * sizeof(Cell*),
                             cudaMemcpyHostToDevice, stream_));
    decay_tiles<<<static_cast<unsigned>(ids.size()), 256, 0, stream_>>>(list_dev_, 3);
    MAP_CALL(cudaGetLastError());
    copy_out(ids);
    MAP_CALL(cudaStreamSynchronize(stream_));
    for (TileId id : ids) {
      MAP_CALL(cudaFree(tiles_.at(id)));
      tiles_.erase(id);
    }
  }

  const Cell* archived(TileId id) const { return store_.find(id); }

 private:
  void copy_out(const std::vector<TileId>& ids) {
    std::vector<void*> dst;
    std::vector<const void*> src;
    for (TileId id : ids) {
      dst.push_back(store_.place(id));
      src.push_back(tiles_.at(id));
    }
    const std::vector<std::size_t> sizes(ids.size(), kTileBytes);
    cudaMemcpyAttributes how{};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    how.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    std::size_t first = 0;
    MAP_CALL(cudaMemcpyBatchAsync(dst.data(), src.data(), sizes.data(), ids.size(), &how, &first, 1,
                                  stream_));
  }

  Cell* tile(TileId id) {
    Cell*& t = tiles_[id];
    if (!t) {
      MAP_CALL(cudaMalloc(reinterpret_cast<void**>(&t), kTileBytes));
      MAP_CALL(cudaMemsetAsync(t, 0, kTileBytes, stream_));
    }
    return t;
  }

  HostStore store_;
  std::size_t max_batch_;
  cudaStream_t stream_ = nullptr;
  Cell** list_host_ = nullptr;
  Cell** list_dev_ = nullptr;
  std::unordered_map<TileId, Cell*> tiles_;
};

}  // namespace mapping

// Column upload of a table scan. Values are packed into page-locked blocks and
// sent to the device; the blocks come from a small slab with an overflow list
// for columns that are larger than a slab block.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <vector>

inline void ensure(cudaError_t e, const char* where) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
    std::abort();
  }
}

struct PinnedBlock {
  std::byte* data = nullptr;
  size_t bytes = 0;
  bool fromSlab = false;
  cudaEvent_t lastUse = nullptr;
};

class PinnedPool {
 public:
  PinnedPool(size_t blockBytes, int blocks) : blockBytes_(blockBytes) {
    for (int i = 0; i < blocks; ++i) idle_.push_back(make(blockBytes, true));
  }
  ~PinnedPool() {
    for (auto& b : busy_) ensure(cudaEventSynchronize(b.lastUse), "pool drain");
    idle_.splice(idle_.end(), busy_);
    for (auto& b : idle_) {
      cudaEventDestroy(b.lastUse);
      cudaFreeHost(b.data);
    }
  }
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  PinnedBlock acquire(size_t bytes) {
    reclaim();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (it->bytes >= bytes) {
        PinnedBlock b = *it;
        idle_.erase(it);
        return b;
      }
    }
    return make(bytes > blockBytes_ ? bytes : blockBytes_, false);
  }

  // The block may still be in use by work that is enqueued on `stream`.
  void release(PinnedBlock b, cudaStream_t stream) {
    if (!b.fromSlab) {
      idle_.push_front(b);
      return;
    }
    ensure(cudaEventRecord(b.lastUse, stream), "record");
    busy_.push_back(b);
  }

 private:
  static PinnedBlock make(size_t bytes, bool fromSlab) {
    PinnedBlock b;
    b.bytes = bytes;
    b.fromSlab = fromSlab;
    ensure(cudaMallocHost(reinterpret_cast<void**>(&b.data), bytes), "cudaMallocHost");
    ensure(cudaEventCreateWithFlags(&b.lastUse, cudaEventDisableTiming), "event");
    return b;
  }

  void reclaim() {
    for (auto it = busy_.begin(); it != busy_.end();) {
      cudaError_t state = cudaEventQuery(it->lastUse);
      if (state == cudaErrorNotReady) {
        ++it;
        continue;
      }
      ensure(state, "query");
      idle_.splice(idle_.end(), busy_, it++);
    }
  }

  size_t blockBytes_;
  std::list<PinnedBlock> idle_, busy_;
};

__global__ void hashStrings(const char* chars, const int* offsets, int rows, unsigned* hash) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  unsigned h = 2166136261u;
  for (int i = offsets[r]; i < offsets[r + 1]; ++i) h = (h ^ static_cast<unsigned char>(chars[i])) * 16777619u;
  hash[r] = h;
}

struct DeviceStrings {
  char* chars;
  int* offsets;
  unsigned* hash;
};

class ColumnUploader {
 public:
  ColumnUploader(PinnedPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  // Packs and sends one column; the target arrays are large enough.
  void send(const std::vector<std::string>& column, const DeviceStrings& target) {
    std::vector<int> offsets(1, 0);
    for (const auto& s : column) offsets.push_back(offsets.back() + static_cast<int>(s.size()));
    PinnedBlock chars = pool_.acquire(offsets.back());
    std::byte* cursor = chars.data;
    for (const auto& s : column) {
      std::memcpy(cursor, s.data(), s.size());
      cursor += s.size();
    }
    copyAndRelease(target.chars, chars, offsets.back());
    PinnedBlock index = pool_.acquire(offsets.size() * sizeof(int));
    std::memcpy(index.data, offsets.data(), offsets.size() * sizeof(int));
    copyAndRelease(target.offsets, index, offsets.size() * sizeof(int));
    const int rows = static_cast<int>(column.size());
    hashStrings<<<(rows + 127) / 128, 128, 0, stream_>>>(target.chars, target.offsets, rows, target.hash);
    ensure(cudaGetLastError(), "hashStrings");
  }

 private:
  void copyAndRelease(void* dst, PinnedBlock block, size_t bytes) {
    ensure(cudaMemcpyAsync(dst, block.data, bytes, cudaMemcpyHostToDevice, stream_), "upload");
    pool_.release(block, stream_);
  }

  PinnedPool& pool_;
  cudaStream_t stream_;
};

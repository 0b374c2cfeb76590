// Descriptor upload for the mesh chunk decoder, with the pinned memory it needs.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace mesh {

inline void cudaTry(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Fixed slots cut out of one pinned slab; larger requests, and requests while all slots are busy,
// go to the driver.
class PinnedSlab {
 public:
  static constexpr size_t kSlotBytes = 256 << 10;

  explicit PinnedSlab(int slots) : slots_(slots) {
    cudaTry(cudaHostAlloc(reinterpret_cast<void**>(&slab_), kSlotBytes * slots, cudaHostAllocDefault));
    for (int i = 0; i < slots; ++i) {
      cudaTry(cudaEventCreateWithFlags(&slots_[i].idle, cudaEventDisableTiming));
      free_.push_back(i);
    }
  }
  ~PinnedSlab() {
    for (Slot& s : slots_) {
      cudaEventSynchronize(s.idle);
      cudaEventDestroy(s.idle);
    }
    cudaFreeHost(slab_);
  }
  PinnedSlab(const PinnedSlab&) = delete;
  PinnedSlab& operator=(const PinnedSlab&) = delete;

  void* allocate(size_t bytes) {
    std::lock_guard<std::mutex> g(mu_);
    if (bytes <= kSlotBytes && !free_.empty()) {
      const int i = free_.front();
      free_.pop_front();
      cudaTry(cudaEventSynchronize(slots_[i].idle));
      return slab_ + i * kSlotBytes;
    }
    void* p = nullptr;
    cudaTry(cudaHostAlloc(&p, bytes, cudaHostAllocDefault));
    return p;
  }

  // Work on `stream` may still use the block.
  void deallocate(void* p, cudaStream_t stream) noexcept {
    std::lock_guard<std::mutex> g(mu_);
    if (owns(p)) {
      const int i = static_cast<int>((static_cast<char*>(p) - slab_) / static_cast<std::ptrdiff_t>(kSlotBytes));
      cudaEventRecord(slots_[i].idle, stream);
      free_.push_back(i);
      return;
    }
    cudaFreeHost(p);
  }

 private:
  struct Slot {
    cudaEvent_t idle = nullptr;
  };

  bool owns(void* p) const { return p >= slab_ && p < slab_ + slots_.size() * kSlotBytes; }

  std::mutex mu_;
  char* slab_ = nullptr;
  std::vector<Slot> slots_;
  std::deque<int> free_;
};

template <typename T>
class PinnedArray {
 public:
  PinnedArray(size_t n, PinnedSlab& slab, cudaStream_t stream)
      : n_(n), slab_(slab), stream_(stream), data_(static_cast<T*>(slab.allocate(n * sizeof(T)))) {}
  ~PinnedArray() { slab_.deallocate(data_, stream_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() { return data_; }
  size_t bytes() const { return n_ * sizeof(T); }
  T& operator[](size_t i) { return data_[i]; }

 private:
  size_t n_;
  PinnedSlab& slab_;
  cudaStream_t stream_;
  T* data_;
};

struct ChunkDesc {
  uint64_t srcOffset;
  uint32_t vertices;
  uint32_t firstVertex;
};

__global__ void dequantize(const ChunkDesc* descs, const uint16_t* packed, float* positions) {
  const ChunkDesc d = descs[blockIdx.x];
  for (uint32_t i = threadIdx.x; i < d.vertices * 3; i += blockDim.x)
    positions[3ull * d.firstVertex + i] = packed[d.srcOffset + i] * (1.0f / 65535.0f);
}

// Decodes all chunks of a mesh. `descs` is device memory for at least `vertices.size()` entries,
// `packed` and `positions` are ready on `stream`.
void decodeChunks(const std::vector<uint32_t>& vertices, const uint16_t* packed, float* positions, ChunkDesc* descs,
                  PinnedSlab& slab, cudaStream_t stream) {
  if (vertices.empty()) return;
  PinnedArray<ChunkDesc> staged(vertices.size(), slab, stream);
  uint32_t first = 0;
  for (size_t i = 0; i < vertices.size(); ++i) {
    staged[i] = {3ull * first, vertices[i], first};
    first += vertices[i];
  }
  cudaTry(cudaMemcpyAsync(descs, staged.data(), staged.bytes(), cudaMemcpyHostToDevice, stream));
  dequantize<<<static_cast<unsigned>(vertices.size()), 128, 0, stream>>>(descs, packed, positions);
  cudaTry(cudaGetLastError());
}

}  // namespace mesh

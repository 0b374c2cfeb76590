// Batched decompression of log archives. The chunk table of a batch goes over
// through pinned blocks; a fixed pool serves most of them.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define INF_TRY(x)                                                             \
  do {                                                                         \
    if (cudaError_t inf_rc = (x); inf_rc != cudaSuccess)                       \
      throw std::runtime_error(std::string("inflate: ") + cudaGetErrorString(inf_rc)); \
  } while (0)

namespace inflate {

class PinnedPool {
 public:
  PinnedPool(size_t blockBytes, int blocks) : blockBytes_(blockBytes) {
    INF_TRY(cudaMallocHost(&slab_, blockBytes * blocks));
    for (int i = 0; i < blocks; ++i) {
      Entry e{static_cast<char*>(slab_) + i * blockBytes, nullptr};
      INF_TRY(cudaEventCreateWithFlags(&e.lastUse, cudaEventDisableTiming));
      free_.push_back(e);
    }
  }
  ~PinnedPool() {
    for (auto& e : free_) {
      cudaEventSynchronize(e.lastUse);
      cudaEventDestroy(e.lastUse);
    }
    cudaFreeHost(slab_);
  }

  struct Entry {
    void* ptr = nullptr;
    cudaEvent_t lastUse = nullptr;
  };

  Entry allocate(size_t bytes) {
    if (bytes <= blockBytes_ && !free_.empty()) {
      Entry e = free_.front();
      free_.pop_front();
      INF_TRY(cudaEventSynchronize(e.lastUse));
      return e;
    }
    Entry e;
    INF_TRY(cudaMallocHost(&e.ptr, bytes));
    return e;
  }

  // The block may still be in use by work enqueued in `stream`.
  void deallocate(Entry e, cudaStream_t stream) {
    if (e.lastUse) {
      INF_TRY(cudaEventRecord(e.lastUse, stream));
      free_.push_back(e);
    } else {
      INF_TRY(cudaStreamSynchronize(stream));
      INF_TRY(cudaFreeHost(e.ptr));
    }
  }

 private:
  size_t blockBytes_;
  void* slab_ = nullptr;
  std::deque<Entry> free_;
};

template <typename T>
class PinnedVector {
 public:
  PinnedVector(PinnedPool& pool, size_t n, cudaStream_t s)
      : pool_(pool), stream_(s), entry_(pool.allocate(n * sizeof(T))), n_(n) {}
  ~PinnedVector() { pool_.deallocate(entry_, stream_); }
  PinnedVector(const PinnedVector&) = delete;
  PinnedVector& operator=(const PinnedVector&) = delete;
  T* data() { return static_cast<T*>(entry_.ptr); }
  T& operator[](size_t i) { return data()[i]; }
  size_t bytes() const { return n_ * sizeof(T); }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_;
  PinnedPool::Entry entry_;
  size_t n_;
};

struct Chunk {
  uint32_t offset;
  uint32_t compressed;
};

__global__ void inflateChunks(const uint8_t* in, const Chunk* chunks, uint8_t* out, int n) {
  int c = blockIdx.x;
  if (c >= n) return;
  for (uint32_t i = threadIdx.x; i < chunks[c].compressed; i += blockDim.x)
    out[chunks[c].offset + i] = in[chunks[c].offset + i] ^ 0x5a;
}

class Decompressor {
 public:
  Decompressor(PinnedPool& pool, size_t maxChunks, cudaStream_t stream) : pool_(pool), stream_(stream) {
    INF_TRY(cudaMalloc(reinterpret_cast<void**>(&chunks_), maxChunks * sizeof(Chunk)));
  }
  ~Decompressor() {
    cudaStreamSynchronize(stream_);
    cudaFree(chunks_);
  }

  // Enqueues one batch; `out` is valid in the order of the stream.
  void run(const uint8_t* in, const std::vector<uint32_t>& sizes, uint8_t* out) {
    const int n = static_cast<int>(sizes.size());
    PinnedVector<Chunk> table(pool_, sizes.size(), stream_);
    uint32_t at = 0;
    for (int i = 0; i < n; ++i) {
      table[i] = Chunk{at, sizes[i]};
      at += sizes[i];
    }
    INF_TRY(cudaMemcpyAsync(chunks_, table.data(), table.bytes(), cudaMemcpyHostToDevice, stream_));
    inflateChunks<<<n, 128, 0, stream_>>>(in, chunks_, out, n);
    INF_TRY(cudaGetLastError());
  }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_;
  Chunk* chunks_ = nullptr;
};

}  // namespace inflate

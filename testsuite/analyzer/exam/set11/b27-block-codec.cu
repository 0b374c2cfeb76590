// Byte-plane compressor. Chunk descriptors go to the device from page-locked memory, which comes from a slab;
// batches with very many chunks do not fit into the slab and get an allocation of their own.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <vector>

#define Z_CHECK(expr)                                                                             \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct Chunk {
  const std::uint8_t* src;
  std::uint8_t* dst;
  std::uint32_t bytes;
  std::uint32_t stride;
};

__global__ void shuffleBytes(const Chunk* chunks, std::uint32_t count) {
  for (std::uint32_t c = blockIdx.x; c < count; c += gridDim.x) {
    Chunk k = chunks[c];
    std::uint32_t rows = k.bytes / k.stride;
    for (std::uint32_t i = threadIdx.x; i < rows * k.stride; i += blockDim.x)
      k.dst[(i % k.stride) * rows + i / k.stride] = k.src[i];
  }
}

class PinnedSlab {
 public:
  explicit PinnedSlab(std::size_t blockBytes, int blocks) : blockBytes_(blockBytes) {
    for (int i = 0; i < blocks; ++i) {
      Block b;
      Z_CHECK(cudaMallocHost(&b.ptr, blockBytes));
      Z_CHECK(cudaEventCreateWithFlags(&b.released, cudaEventDisableTiming));
      blocks_.push_back(b);
    }
  }
  PinnedSlab(const PinnedSlab&) = delete;
  ~PinnedSlab() {
    for (Block& b : blocks_) {
      cudaEventSynchronize(b.released);
      cudaEventDestroy(b.released);
      cudaFreeHost(b.ptr);
    }
  }

  void* allocate(std::size_t bytes) {
    if (bytes <= blockBytes_) {
      for (Block& b : blocks_) {
        if (!b.taken && cudaEventQuery(b.released) == cudaSuccess) {
          b.taken = true;
          return b.ptr;
        }
      }
    }
    void* p = nullptr;
    Z_CHECK(cudaMallocHost(&p, bytes));
    return p;
  }

  // The memory may be used again when `stream` has done what it holds now.
  void deallocate(void* p, cudaStream_t stream) {
    for (Block& b : blocks_) {
      if (b.ptr == p) {
        Z_CHECK(cudaEventRecord(b.released, stream));
        b.taken = false;
        return;
      }
    }
    Z_CHECK(cudaFreeHost(p));
  }

 private:
  struct Block {
    void* ptr = nullptr;
    cudaEvent_t released = nullptr;
    bool taken = false;
  };
  std::size_t blockBytes_;
  std::list<Block> blocks_;
};

template <typename T>
class PinnedVector {
 public:
  PinnedVector(PinnedSlab& slab, std::size_t n, cudaStream_t stream)
      : slab_(slab), data_(static_cast<T*>(slab.allocate(n * sizeof(T)))), size_(n), stream_(stream) {}
  PinnedVector(const PinnedVector&) = delete;
  ~PinnedVector() { slab_.deallocate(data_, stream_); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  PinnedSlab& slab_;
  T* data_;
  std::size_t size_;
  cudaStream_t stream_;
};

class BlockCodec {
 public:
  explicit BlockCodec(std::size_t maxChunks) : slab_(64 * sizeof(Chunk), 8), maxChunks_(maxChunks) {
    Z_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    Z_CHECK(cudaMalloc(reinterpret_cast<void**>(&table_), maxChunks * sizeof(Chunk)));
  }
  BlockCodec(const BlockCodec&) = delete;
  ~BlockCodec() {
    cudaStreamSynchronize(stream_);
    cudaFree(table_);
    cudaStreamDestroy(stream_);
  }

  void encode(const std::uint8_t* src, std::uint8_t* dst, std::size_t bytes, std::uint32_t chunkBytes) {
    const std::size_t count = (bytes + chunkBytes - 1) / chunkBytes;
    if (count == 0 || count > maxChunks_) return;
    PinnedVector<Chunk> chunks(slab_, count, stream_);
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t at = c * chunkBytes;
      const std::size_t left = bytes - at;
      chunks[c] = {src + at, dst + at, static_cast<std::uint32_t>(left < chunkBytes ? left : chunkBytes), 4};
    }
    sendTable(chunks);
    shuffleBytes<<<256, 256, 0, stream_>>>(table_, static_cast<std::uint32_t>(count));
    Z_CHECK(cudaGetLastError());
  }

  void wait() { Z_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  void sendTable(const PinnedVector<Chunk>& chunks) {
    Z_CHECK(cudaMemcpyAsync(table_, chunks.data(), chunks.size() * sizeof(Chunk), cudaMemcpyHostToDevice, stream_));
  }

  PinnedSlab slab_;
  std::size_t maxChunks_;
  cudaStream_t stream_ = nullptr;
  Chunk* table_ = nullptr;
};

int main() {
  constexpr std::size_t kBytes = std::size_t{1} << 26;
  std::uint8_t *in = nullptr, *out = nullptr;
  Z_CHECK(cudaMalloc(reinterpret_cast<void**>(&in), kBytes));
  Z_CHECK(cudaMalloc(reinterpret_cast<void**>(&out), kBytes));
  Z_CHECK(cudaMemset(in, 7, kBytes));
  Z_CHECK(cudaDeviceSynchronize());
  {
    BlockCodec codec(4096);
    codec.encode(in, out, kBytes, 1u << 20);
    codec.encode(in, out, kBytes, 1u << 15);
    codec.encode(in, out, kBytes, 1u << 21);
    codec.wait();
  }
  std::vector<std::uint8_t> check(16);
  Z_CHECK(cudaMemcpy(check.data(), out, check.size(), cudaMemcpyDeviceToHost));
  std::printf("first byte %d\n", check[0]);
  cudaFree(in);
  cudaFree(out);
}

// Two-device hash join: the build side is uploaded slab by slab from pinned
// slabs that go back to a pool as soon as the device has read them.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

static bool logError(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return false;
#ifndef NDEBUG
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
#endif
  return true;
}
#define SOFT(x) logError((x), #x)
#define HARD(x)                        \
  do {                                 \
    if (logError((x), #x)) std::exit(1); \
  } while (0)

constexpr size_t kSlabBytes = 1 << 20;

struct Slab {
  uint8_t* host = nullptr;
  cudaEvent_t inUse = nullptr;
};

class SlabPool {
 public:
  SlabPool(int count, int firstDevice) {
    HARD(cudaSetDevice(firstDevice));
    for (int i = 0; i < count; ++i) {
      auto s = std::make_unique<Slab>();
      HARD(cudaMallocHost(reinterpret_cast<void**>(&s->host), kSlabBytes));
      HARD(cudaEventCreateWithFlags(&s->inUse, cudaEventDisableTiming));
      slabs_.push_back(std::move(s));
      idle_.push_back(slabs_.back().get());
    }
  }
  ~SlabPool() {
    for (auto& s : slabs_) {
      cudaEventDestroy(s->inUse);
      cudaFreeHost(s->host);
    }
  }

  Slab* acquire() {
    Slab* s = idle_.front();
    idle_.pop_front();
    HARD(cudaEventSynchronize(s->inUse));
    return s;
  }

  void release(Slab* s, cudaStream_t stream) {
    SOFT(cudaEventRecord(s->inUse, stream));
    idle_.push_back(s);
  }

 private:
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::deque<Slab*> idle_;
};

__global__ void hashKeys(const uint32_t* keys, uint32_t* buckets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buckets[i] = (keys[i] * 2654435761u) >> 12;
}

struct Shard {
  int device = 0;
  cudaStream_t stream = nullptr;
  uint32_t* keys = nullptr;
  uint32_t* buckets = nullptr;

  Shard(int dev, size_t bytes) : device(dev) {
    HARD(cudaSetDevice(dev));
    HARD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    HARD(cudaMalloc(reinterpret_cast<void**>(&keys), bytes));
    HARD(cudaMalloc(reinterpret_cast<void**>(&buckets), bytes));
  }
  ~Shard() {
    cudaSetDevice(device);
    cudaStreamSynchronize(stream);
    cudaFree(keys);
    cudaFree(buckets);
    cudaStreamDestroy(stream);
  }
};

void uploadColumn(SlabPool& pool, Shard& shard, const std::vector<uint32_t>& column) {
  HARD(cudaSetDevice(shard.device));
  const size_t perSlab = kSlabBytes / sizeof(uint32_t);
  for (size_t at = 0; at < column.size(); at += perSlab) {
    const size_t n = std::min(perSlab, column.size() - at);
    Slab* s = pool.acquire();
    std::memcpy(s->host, column.data() + at, n * sizeof(uint32_t));
    HARD(cudaMemcpyAsync(shard.keys + at, s->host, n * sizeof(uint32_t), cudaMemcpyHostToDevice,
                         shard.stream));
    pool.release(s, shard.stream);
  }
  const int total = static_cast<int>(column.size());
  hashKeys<<<(total + 255) / 256, 256, 0, shard.stream>>>(shard.keys, shard.buckets, total);
}

int main() {
  const size_t rows = 8u << 20;
  std::vector<uint32_t> left(rows), right(rows);
  for (size_t i = 0; i < rows; ++i) {
    left[i] = static_cast<uint32_t>(i * 7);
    right[i] = static_cast<uint32_t>(i * 13);
  }

  SlabPool pool(4, 0);
  Shard s0(0, rows * sizeof(uint32_t));
  Shard s1(1, rows * sizeof(uint32_t));
  uploadColumn(pool, s0, left);
  uploadColumn(pool, s1, right);

  HARD(cudaStreamSynchronize(s1.stream));
  HARD(cudaSetDevice(0));
  HARD(cudaStreamSynchronize(s0.stream));
  std::printf("built %zu rows per shard\n", rows);
  return 0;
}

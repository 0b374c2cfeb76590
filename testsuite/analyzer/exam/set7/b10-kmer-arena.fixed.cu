// k-mer histogram of sequencing reads: CUB radix sort per chunk, all scratch from a small arena.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(x)                                                                             \
  do {                                                                                     \
    if (cudaError_t e_ = (x); e_ != cudaSuccess) {                                         \
      std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(2);                                                                        \
    }                                                                                      \
  } while (0)

// Keeps device blocks between chunks so that the loop never calls cudaMalloc.
class ChunkArena {
 public:
  ~ChunkArena() {
    for (Block& b : blocks_) GPU(cudaFree(b.ptr));
  }

  void* take(size_t bytes) {
    for (Block& b : blocks_) {
      if (!b.used && b.bytes >= bytes) {
        b.used = true;
        return b.ptr;
      }
    }
    Block b;
    GPU(cudaMalloc(&b.ptr, bytes));
    b.bytes = bytes;
    b.used = true;
    blocks_.push_back(b);
    return b.ptr;
  }

  void give(void* ptr) {
    for (Block& b : blocks_)
      if (b.ptr == ptr) b.used = false;
  }

 private:
  struct Block {
    void* ptr = nullptr;
    size_t bytes = 0;
    bool used = false;
  };
  std::vector<Block> blocks_;
};

__global__ void packKmers(uint32_t seed, uint64_t* kmers, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) kmers[i] = (seed + i) * 0x9E3779B97F4A7C15ull >> 22;
}

struct Pipeline {
  cudaStream_t compute = nullptr;
  cudaStream_t copy = nullptr;
  cudaEvent_t sorted = nullptr;
  cudaEvent_t copied = nullptr;
  ChunkArena arena;

  Pipeline() {
    GPU(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    GPU(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    GPU(cudaEventCreateWithFlags(&sorted, cudaEventDisableTiming));
    GPU(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  }
  ~Pipeline() {
    GPU(cudaStreamSynchronize(compute));
    GPU(cudaStreamSynchronize(copy));
    GPU(cudaEventDestroy(sorted));
    GPU(cudaEventDestroy(copied));
    GPU(cudaStreamDestroy(compute));
    GPU(cudaStreamDestroy(copy));
  }
};

static uint64_t* sortChunk(Pipeline& p, uint32_t seed, int n) {
  uint64_t* raw = static_cast<uint64_t*>(p.arena.take(sizeof(uint64_t) * n));
  uint64_t* ordered = static_cast<uint64_t*>(p.arena.take(sizeof(uint64_t) * n));
  packKmers<<<(n + 255) / 256, 256, 0, p.compute>>>(seed, raw, n);
  GPU(cudaGetLastError());

  size_t tempBytes = 0;
  GPU(cub::DeviceRadixSort::SortKeys(nullptr, tempBytes, raw, ordered, n, 0, 42, p.compute));
  void* temp = p.arena.take(tempBytes);
  GPU(cub::DeviceRadixSort::SortKeys(temp, tempBytes, raw, ordered, n, 0, 42, p.compute));
  GPU(cudaEventRecord(p.sorted, p.compute));
  p.arena.give(temp);
  p.arena.give(raw);
  return ordered;
}

static void drainChunk(Pipeline& p, uint64_t* ordered, uint64_t* host, int n) {
  GPU(cudaStreamWaitEvent(p.copy, p.sorted, 0));
  GPU(cudaMemcpyAsync(host, ordered, sizeof(uint64_t) * n, cudaMemcpyDeviceToHost, p.copy));
  GPU(cudaEventRecord(p.copied, p.copy));
  GPU(cudaStreamWaitEvent(p.compute, p.copied, 0));
  p.arena.give(ordered);
}

int main(int argc, char** argv) {
  const int n = 1 << 20;
  const int chunks = argc > 1 ? std::atoi(argv[1]) : 8;
  if (chunks < 1) return 1;
  uint64_t* host = nullptr;
  GPU(cudaMallocHost(&host, sizeof(uint64_t) * n * chunks));
  {
    Pipeline p;
    for (int c = 0; c < chunks; ++c) {
      uint64_t* ordered = sortChunk(p, 17u * c, n);
      drainChunk(p, ordered, host + static_cast<size_t>(c) * n, n);
    }
    GPU(cudaStreamSynchronize(p.copy));
  }
  uint64_t distinct = 0;
  for (size_t i = 1; i < static_cast<size_t>(n) * chunks; ++i) distinct += host[i] != host[i - 1];
  std::printf("%d chunks, %llu transitions\n", chunks, static_cast<unsigned long long>(distinct));
  GPU(cudaFreeHost(host));
  return 0;
}

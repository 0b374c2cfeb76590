// Spreads a table's column chunks over all GPUs of a node. Chunks are read from disk into page-locked slabs;
// a slab goes back to the cache with an event that tells when the copy out of it is over.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#define DB_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

__global__ void decodeDeltas(std::int32_t* column, int blockLength, int blocks) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  std::int32_t acc = 0;
  for (int i = 0; i < blockLength; ++i) column[b * blockLength + i] = acc += column[b * blockLength + i];
}

// Creating an event costs a few microseconds, so they are recycled.
class EventCache {
 public:
  EventCache() = default;
  EventCache(const EventCache&) = delete;
  ~EventCache() {
    for (cudaEvent_t e : idle_) cudaEventDestroy(e);
  }
  void reserve(int count) {
    for (int i = 0; i < count; ++i) {
      cudaEvent_t e = nullptr;
      DB_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      idle_.push_back(e);
    }
  }
  cudaEvent_t get() {
    if (idle_.empty()) reserve(1);
    cudaEvent_t e = idle_.front();
    idle_.pop_front();
    return e;
  }
  void put(cudaEvent_t e) { idle_.push_back(e); }

 private:
  std::deque<cudaEvent_t> idle_;
};

class SlabCache {
 public:
  explicit SlabCache(int slabs) {
    events_.reserve(slabs);
    for (int i = 0; i < slabs; ++i) {
      void* p = nullptr;
      DB_CHECK(cudaHostAlloc(&p, kChunkBytes, cudaHostAllocPortable));
      idle_.push_back({p, nullptr});
    }
  }
  SlabCache(const SlabCache&) = delete;
  ~SlabCache() {
    for (Slab& s : idle_) {
      settle(s);
      cudaFreeHost(s.ptr);
    }
  }

  void* take() {
    Slab s = idle_.front();
    idle_.pop_front();
    settle(s);
    return s.ptr;
  }

  // `stream` reads the slab with what it holds now.
  void give(void* ptr, cudaStream_t stream) {
    cudaEvent_t e = events_.get();
    cudaEventRecord(e, stream);
    idle_.push_back({ptr, e});
  }

 private:
  struct Slab {
    void* ptr;
    cudaEvent_t lastRead;
  };
  void settle(Slab& s) {
    if (!s.lastRead) return;
    DB_CHECK(cudaEventSynchronize(s.lastRead));
    events_.put(s.lastRead);
    s.lastRead = nullptr;
  }
  EventCache events_;
  std::deque<Slab> idle_;
};

struct DeviceLane {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::int32_t* column = nullptr;  // all chunks of this device, one behind another
  std::size_t chunks = 0;
};

class Shuffler {
 public:
  Shuffler(int devices, std::size_t chunksPerDevice) : slabs_(4) {
    for (int d = 0; d < devices; ++d) {
      DeviceLane lane;
      lane.device = d;
      DB_CHECK(cudaSetDevice(d));
      DB_CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      DB_CHECK(cudaMalloc(reinterpret_cast<void**>(&lane.column), chunksPerDevice * kChunkBytes));
      lanes_.push_back(lane);
    }
  }
  Shuffler(const Shuffler&) = delete;
  ~Shuffler() {
    wait();
    for (DeviceLane& l : lanes_) {
      cudaSetDevice(l.device);
      cudaFree(l.column);
      cudaStreamDestroy(l.stream);
    }
  }

  // `read(index, dst)` fills dst with the chunk of that index.
  template <typename Reader>
  void run(std::size_t chunks, Reader&& read) {
    for (std::size_t c = 0; c < chunks; ++c) {
      void* slab = slabs_.take();
      read(c, slab);
      send(lanes_[c % lanes_.size()], slab);
    }
  }

  void wait() {
    for (DeviceLane& l : lanes_) {
      DB_CHECK(cudaSetDevice(l.device));
      DB_CHECK(cudaStreamSynchronize(l.stream));
    }
  }

 private:
  void send(DeviceLane& lane, void* slab) {
    DB_CHECK(cudaSetDevice(lane.device));
    std::int32_t* dst = lane.column + lane.chunks++ * (kChunkBytes / sizeof(std::int32_t));
    DB_CHECK(cudaMemcpyAsync(dst, slab, kChunkBytes, cudaMemcpyHostToDevice, lane.stream));
    slabs_.give(slab, lane.stream);
    constexpr int kBlock = 128, kBlocks = kChunkBytes / sizeof(std::int32_t) / kBlock;
    decodeDeltas<<<(kBlocks + 127) / 128, 128, 0, lane.stream>>>(dst, kBlock, kBlocks);
  }

  SlabCache slabs_;
  std::vector<DeviceLane> lanes_;
};

int main() {
  int devices = 0;
  DB_CHECK(cudaGetDeviceCount(&devices));
  constexpr std::size_t kChunks = 256;
  Shuffler shuffler(devices, (kChunks + devices - 1) / devices);
  shuffler.run(kChunks, [](std::size_t index, void* dst) { std::memset(dst, static_cast<int>(index & 1), kChunkBytes); });
  shuffler.wait();
  std::printf("%zu chunks on %d devices\n", kChunks, devices);
}

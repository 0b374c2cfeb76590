// Loads table shards onto all GPUs of a node through a common set of page-locked slabs.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace loader {

inline void note(cudaError_t e, const char* what) {
  static const bool verbose = std::getenv("LOADER_VERBOSE") != nullptr;
  if (e != cudaSuccess && verbose) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
}

}  // namespace loader

#define RT(x) ::loader::note((x), #x)

namespace loader {

class EventPool {
 public:
  explicit EventPool(int n) {
    for (int i = 0; i < n; ++i) {
      cudaEvent_t e = nullptr;
      RT(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      idle_.push_back(e);
    }
  }
  ~EventPool() {
    for (cudaEvent_t e : idle_) cudaEventDestroy(e);
  }
  cudaEvent_t get() {
    cudaEvent_t e = idle_.back();
    idle_.pop_back();
    return e;
  }
  void put(cudaEvent_t e) { idle_.push_back(e); }

 private:
  std::vector<cudaEvent_t> idle_;
};

struct Slab {
  std::byte* mem = nullptr;
  cudaEvent_t fence = nullptr;
};

class SlabRing {
 public:
  SlabRing(int slabs, std::size_t bytes) : events_(slabs), slabs_(slabs), bytes_(bytes) {
    for (auto& s : slabs_) RT(cudaHostAlloc((void**)&s.mem, bytes, cudaHostAllocPortable));
  }
  ~SlabRing() {
    for (auto& s : slabs_) {
      settle(s);
      cudaFreeHost(s.mem);
    }
  }

  Slab& acquire() {
    Slab& s = slabs_[next_++ % slabs_.size()];
    settle(s);
    return s;
  }

  // `stream` belongs to the current device.
  void release(Slab& s, cudaStream_t stream) {
    s.fence = events_.get();
    RT(cudaEventRecord(s.fence, stream));
  }

  std::size_t bytes() const { return bytes_; }

 private:
  void settle(Slab& s) {
    if (!s.fence) return;
    RT(cudaEventSynchronize(s.fence));
    events_.put(s.fence);
    s.fence = nullptr;
  }

  EventPool events_;
  std::vector<Slab> slabs_;
  std::size_t bytes_;
  std::size_t next_ = 0;
};

struct Gpu {
  int id;
  cudaStream_t stream;
  std::byte* table;
  std::uint64_t* checksum;
};

__global__ void fold(const std::byte* p, std::size_t n, std::uint64_t* sum) {
  std::uint64_t acc = 0;
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(gridDim.x) * blockDim.x)
    acc += static_cast<unsigned char>(p[i]);
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(acc));
}

void load_shard(SlabRing& ring, Gpu& gpu, const std::byte* src, std::size_t bytes) {
  RT(cudaSetDevice(gpu.id));
  for (std::size_t at = 0; at < bytes; at += ring.bytes()) {
    const std::size_t len = bytes - at < ring.bytes() ? bytes - at : ring.bytes();
    Slab& s = ring.acquire();
    std::memcpy(s.mem, src + at, len);
    RT(cudaMemcpyAsync(gpu.table + at, s.mem, len, cudaMemcpyHostToDevice, gpu.stream));
    ring.release(s, gpu.stream);
  }
  fold<<<64, 256, 0, gpu.stream>>>(gpu.table, bytes, gpu.checksum);
}

std::vector<Gpu> open_all(std::size_t bytes) {
  int n = 0;
  RT(cudaGetDeviceCount(&n));
  std::vector<Gpu> out;
  for (int d = 0; d < n; ++d) {
    Gpu g{d, nullptr, nullptr, nullptr};
    RT(cudaSetDevice(d));
    RT(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking));
    RT(cudaMalloc((void**)&g.table, bytes));
    RT(cudaMalloc((void**)&g.checksum, sizeof(std::uint64_t)));
    RT(cudaMemsetAsync(g.checksum, 0, sizeof(std::uint64_t), g.stream));
    out.push_back(g);
  }
  return out;
}

void close_all(std::vector<Gpu>& gpus) {
  for (auto& g : gpus) {
    std::uint64_t sum = 0;
    RT(cudaSetDevice(g.id));
    RT(cudaStreamSynchronize(g.stream));
    RT(cudaMemcpy(&sum, g.checksum, sizeof sum, cudaMemcpyDeviceToHost));
    std::printf("gpu %d: %llu\n", g.id, (unsigned long long)sum);
    cudaFree(g.table);
    cudaFree(g.checksum);
    cudaStreamDestroy(g.stream);
  }
}

}  // namespace loader

int main() {
  constexpr std::size_t kShard = std::size_t(512) << 20;
  auto gpus = loader::open_all(kShard);
  std::vector<std::byte> rows(kShard);
  RT(cudaSetDevice(0));
  auto ring = std::make_unique<loader::SlabRing>(4, std::size_t(8) << 20);
  for (auto& g : gpus) {
    std::memset(rows.data(), 1 + g.id, kShard);
    loader::load_shard(*ring, g, rows.data(), kShard);
  }
  loader::close_all(gpus);
  ring.reset();
}

// Guard-word audit of device arenas. A mapped host word collects the number of
// damaged guard words; arenas are scanned one by one on the auditor's stream.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

inline void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* name = "unknown";
  cuGetErrorName(r, &name);
  throw std::runtime_error(std::string(what) + ": " + name);
}

constexpr uint32_t kGuard = 0xC0DEFACEu;
constexpr int kGuardWords = 64;

__global__ void countDamaged(const uint32_t* guard, uint32_t* damaged) {
  if (guard[threadIdx.x] != kGuard) atomicAdd_system(damaged, 1u);
}

struct Block {
  CUdeviceptr base;
  size_t bytes;  // user bytes, the guard words follow
  bool live;
};

struct Arena {
  std::string name;
  std::vector<Block> blocks;

  std::vector<CUdeviceptr> guards() const {
    std::vector<CUdeviceptr> out;
    for (const Block& b : blocks)
      if (b.live) out.push_back(b.base + b.bytes);
    return out;
  }
};

// One host word, mapped into the device's address space.
class MappedCounter {
 public:
  MappedCounter() {
    void* p = nullptr;
    drv(cuMemHostAlloc(&p, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
    host_ = static_cast<volatile uint32_t*>(p);
    drv(cuMemHostGetDevicePointer(&device_, p, 0), "cuMemHostGetDevicePointer");
  }
  ~MappedCounter() { cuMemFreeHost(const_cast<uint32_t*>(host_)); }
  MappedCounter(const MappedCounter&) = delete;
  MappedCounter& operator=(const MappedCounter&) = delete;

  void reset(CUstream s) { drv(cuMemsetD32Async(device_, 0u, 1, s), "cuMemsetD32Async"); }
  uint32_t value() const { return *host_; }
  uint32_t* device() const { return reinterpret_cast<uint32_t*>(device_); }

 private:
  volatile uint32_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
};

struct Finding {
  std::string arena;
  size_t index;
  uint32_t words;
};

class Auditor {
 public:
  Auditor() { drv(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
  ~Auditor() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  std::vector<Finding> run(const std::vector<Arena>& arenas) {
    std::vector<Finding> all;
    for (const Arena& arena : arenas) {
      auto found = scan(arena.name, arena.guards());
      all.insert(all.end(), found.begin(), found.end());
    }
    return all;
  }

 private:
  std::vector<Finding> scan(const std::string& name, const std::vector<CUdeviceptr>& guards) {
    std::vector<Finding> found;
    if (guards.empty()) return found;
    MappedCounter counter;
    counter.reset(stream_);
    uint32_t seen = 0;
    for (size_t i = 0; i < guards.size(); ++i) {
      countDamaged<<<1, kGuardWords, 0, stream_>>>(reinterpret_cast<const uint32_t*>(guards[i]), counter.device());
      if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("countDamaged");
      drv(cuStreamSynchronize(stream_), "cuStreamSynchronize");
      const uint32_t total = counter.value();
      if (total != seen) found.push_back({name, i, total - seen});
      seen = total;
    }
    return found;
  }

  CUstream stream_ = nullptr;
};

void printFindings(const std::vector<Arena>& arenas) {
  Auditor auditor;
  for (const Finding& f : auditor.run(arenas))
    std::printf("%s: block %zu, %u guard words damaged\n", f.arena.c_str(), f.index, f.words);
}

// Out-of-bounds guard for auto-tuned kernels. Guard words live in pinned, mapped memory.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define DRV(call)                                                     \
  do {                                                                \
    CUresult rc_ = (call);                                            \
    if (rc_ != CUDA_SUCCESS) {                                        \
      const char* msg_ = nullptr;                                     \
      cuGetErrorString(rc_, &msg_);                                   \
      std::fprintf(stderr, "%s: %s\n", #call, msg_ ? msg_ : "?");     \
      std::abort();                                                   \
    }                                                                 \
  } while (0)

namespace tuner {

constexpr size_t kBlock = 64 * 1024;
constexpr uint32_t kPattern = 0xA5A5A5A5u;

class PinnedArena {
 public:
  explicit PinnedArena(int blocks) {
    DRV(cuMemHostAlloc(&base_, kBlock * blocks, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    for (int i = blocks; i-- > 0;) free_.push_back(static_cast<char*>(base_) + i * kBlock);
  }
  ~PinnedArena() {
    cuCtxSynchronize();
    cuMemFreeHost(base_);
  }
  void* take() {
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void give(void* p) { free_.push_back(p); }

 private:
  void* base_ = nullptr;
  std::vector<void*> free_;
};

class ScopedBlock {
 public:
  explicit ScopedBlock(PinnedArena& a) : arena_(a), p_(a.take()) {}
  ~ScopedBlock() { arena_.give(p_); }
  ScopedBlock(const ScopedBlock&) = delete;
  uint32_t* words() const { return static_cast<uint32_t*>(p_); }
  char* text() const { return static_cast<char*>(p_); }
  CUdeviceptr device() const {
    CUdeviceptr d = 0;
    DRV(cuMemHostGetDevicePointer(&d, p_, 0));
    return d;
  }

 private:
  PinnedArena& arena_;
  void* p_;
};

struct Variant {
  std::string name;
  CUfunction fn;
  unsigned block_dim;
};

class RedzoneChecker {
 public:
  RedzoneChecker(PinnedArena& arena, CUstream stream) : arena_(arena), stream_(stream) {}

  // Returns the number of variants that left the guard words untouched.
  int check(const std::vector<Variant>& variants, CUdeviceptr problem, int n) {
    ScopedBlock zone(arena_);
    CUdeviceptr guard = zone.device();
    DRV(cuMemsetD32Async(guard, kPattern, kBlock / sizeof(uint32_t), stream_));
    int clean = 0;
    for (const Variant& v : variants) {
      void* args[] = {&problem, &n, &guard};
      DRV(cuLaunchKernel(v.fn, (n + v.block_dim - 1) / v.block_dim, 1, 1, v.block_dim, 1, 1, 0, stream_, args, nullptr));
      DRV(cuStreamSynchronize(stream_));
      clean += intact(zone.words());
    }
    return clean;
  }

 private:
  static bool intact(const uint32_t* w) {
    for (size_t i = 0; i < kBlock / sizeof(uint32_t); ++i)
      if (w[i] != kPattern) return false;
    return true;
  }

  PinnedArena& arena_;
  CUstream stream_;
};

void report(PinnedArena& arena, const std::string& problem, int clean, size_t tried) {
  ScopedBlock line(arena);
  std::snprintf(line.text(), kBlock, "%s: %d of %zu variants clean", problem.c_str(), clean, tried);
  std::fputs(line.text(), stdout);
  std::fputc('\n', stdout);
}

std::vector<Variant> eligible(const std::vector<Variant>& all, int n) {
  std::vector<Variant> out;
  for (const auto& v : all)
    if (n % static_cast<int>(v.block_dim) == 0) out.push_back(v);
  return out;
}

}  // namespace tuner

int main(int argc, char** argv) {
  CUdevice dev;
  CUcontext ctx;
  CUmodule mod;
  CUstream stream;
  DRV(cuInit(0));
  DRV(cuDeviceGet(&dev, 0));
  DRV(cuDevicePrimaryCtxRetain(&ctx, dev));
  DRV(cuCtxSetCurrent(ctx));
  DRV(cuModuleLoad(&mod, argc > 1 ? argv[1] : "variants.cubin"));
  DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<tuner::Variant> all(3);
  const unsigned dims[] = {128, 256, 512};
  for (int i = 0; i < 3; ++i) {
    all[i] = {"v" + std::to_string(i), nullptr, dims[i]};
    DRV(cuModuleGetFunction(&all[i].fn, mod, all[i].name.c_str()));
  }
  CUdeviceptr data;
  DRV(cuMemAlloc(&data, sizeof(float) << 20));
  {
    tuner::PinnedArena arena(4);
    tuner::RedzoneChecker checker(arena, stream);
    for (int n : {1 << 20, 1000, 4096, 777}) {
      auto v = tuner::eligible(all, n);
      int clean = checker.check(v, data, n);
      tuner::report(arena, "n=" + std::to_string(n), clean, v.size());
    }
  }
  DRV(cuMemFree(data));
  DRV(cuStreamDestroy(stream));
  DRV(cuModuleUnload(mod));
  DRV(cuDevicePrimaryCtxRelease(dev));
}

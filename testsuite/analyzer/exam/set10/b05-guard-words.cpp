// Guard-word scanner of the order-book arena: finds writes past the end of pool allocations.
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace orderbook {

void driver_check(CUresult rc, const char* expr) {
  if (rc == CUDA_SUCCESS) return;
  const char* msg = nullptr;
  cuGetErrorString(rc, &msg);
  throw std::runtime_error(std::string(expr) + ": " + (msg ? msg : "unknown"));
}
#define DRV(x) driver_check((x), #x)

// One 32-bit word of page-locked memory that kernels can increment.
class HostWord {
 public:
  HostWord() {
    void* p = nullptr;
    DRV(cuMemHostAlloc(&p, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
    host_ = static_cast<std::uint32_t*>(p);
    DRV(cuMemHostGetDevicePointer(&dev_, p, 0));
  }
  ~HostWord() { cuMemFreeHost(host_); }
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;

  CUdeviceptr device() const { return dev_; }
  std::uint32_t value() const { return *host_; }

 private:
  std::uint32_t* host_ = nullptr;
  CUdeviceptr dev_ = 0;
};

struct Guarded {
  CUdeviceptr base = 0;
  std::size_t payload = 0;
  std::size_t guard_words = 64;
  std::string tag;
  bool dirty = false;
};

class GuardScanner {
 public:
  // count_mismatches(ptr, words, pattern, counter) comes from the tools module.
  GuardScanner(CUmodule tools, std::uint32_t pattern) : pattern_(pattern) {
    DRV(cuModuleGetFunction(&kernel_, tools, "count_mismatches"));
  }

  void paint(const Guarded& g, CUstream stream) const {
    DRV(cuMemsetD32Async(g.base + g.payload, pattern_, g.guard_words, stream));
  }

  // Returns the tags of all buffers whose trailing guard words were overwritten.
  std::vector<std::string> scan(const std::vector<const Guarded*>& buffers, CUstream stream) const {
    std::vector<std::string> broken;
    HostWord mismatches;
    DRV(cuMemsetD32Async(mismatches.device(), 0, 1, stream));
    std::uint32_t before = 0;
    for (const Guarded* g : buffers) {
      launch(*g, mismatches.device(), stream);
      DRV(cuStreamSynchronize(stream));
      if (mismatches.value() != before) broken.push_back(g->tag);
      before = mismatches.value();
    }
    return broken;
  }

 private:
  void launch(const Guarded& g, CUdeviceptr counter, CUstream stream) const {
    CUdeviceptr words = g.base + g.payload;
    auto count = static_cast<unsigned>(g.guard_words);
    std::uint32_t pattern = pattern_;
    void* args[] = {&words, &count, &pattern, &counter};
    DRV(cuLaunchKernel(kernel_, (count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, args, nullptr));
  }

  CUfunction kernel_ = nullptr;
  std::uint32_t pattern_;
};

class Arena {
 public:
  Arena(CUmodule tools, CUstream stream) : scanner_(tools, 0xfeedbeefu), stream_(stream) {}
  ~Arena() {
    cuStreamSynchronize(stream_);
    for (auto& b : buffers_) cuMemFree(b.base);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr allocate(std::size_t bytes, std::string tag) {
    Guarded g;
    g.payload = (bytes + 3) & ~std::size_t{3};
    g.tag = std::move(tag);
    DRV(cuMemAlloc(&g.base, g.payload + g.guard_words * sizeof(std::uint32_t)));
    scanner_.paint(g, stream_);
    buffers_.push_back(g);
    return g.base;
  }

  void mark_dirty(CUdeviceptr p) {
    for (auto& b : buffers_)
      if (b.base == p) b.dirty = true;
  }

  // Called between trading sessions; checks what was written since the last audit.
  bool audit() {
    std::vector<const Guarded*> touched;
    for (const auto& b : buffers_)
      if (b.dirty) touched.push_back(&b);
    const auto broken = scanner_.scan(touched, stream_);
    for (const auto& tag : broken) std::fprintf(stderr, "guard words of '%s' overwritten\n", tag.c_str());
    for (auto& b : buffers_) b.dirty = false;
    return broken.empty();
  }

 private:
  GuardScanner scanner_;
  CUstream stream_;
  std::vector<Guarded> buffers_;
};

}  // namespace orderbook

// Guard words around the blocks of a device arena.  check() compares the words in front of
// every live block with the pattern that was put there.
#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace arena {

inline void drv(CUresult rc, const char* what) {
  if (rc == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(rc, &text);
  throw std::runtime_error(std::string(what) + ": " + (text ? text : "unknown"));
}
#define DRV(call) ::arena::drv((call), #call)

class DriverStream {
 public:
  DriverStream() { DRV(cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING)); }
  ~DriverStream() { cuStreamDestroy(handle_); }
  DriverStream(const DriverStream&) = delete;
  DriverStream& operator=(const DriverStream&) = delete;

  CUstream get() const { return handle_; }
  void wait() const { DRV(cuStreamSynchronize(handle_)); }

 private:
  CUstream handle_ = nullptr;
};

// Page-locked words that the device can write.
class HostWords {
 public:
  explicit HostWords(std::size_t count) : count_(count) {
    void* p = nullptr;
    DRV(cuMemHostAlloc(&p, count_ * sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
    host_ = static_cast<std::uint32_t*>(p);
    DRV(cuMemHostGetDevicePointer(&device_, p, 0));
  }
  ~HostWords() { cuMemFreeHost(host_); }
  HostWords(const HostWords&) = delete;
  HostWords& operator=(const HostWords&) = delete;

  std::size_t size() const { return count_; }
  std::uint32_t* host() { return host_; }
  CUdeviceptr device() const { return device_; }

 private:
  std::size_t count_;
  std::uint32_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
};

struct Block {
  CUdeviceptr base;
  std::size_t bytes;
};

class GuardChecker {
 public:
  static constexpr std::uint32_t kPattern = 0xfdfdfdfdu;
  static constexpr std::size_t kWords = 64;

  void plant(const Block& block) {
    DRV(cuMemsetD32Async(block.base, kPattern, kWords, stream_.get()));
    stream_.wait();
  }

  // Returns the number of blocks with a damaged guard.
  std::size_t check(const std::vector<Block>& blocks) {
    HostWords report(kWords);
    reset(report);
    std::size_t damaged = 0;
    for (const Block& block : blocks) {
      if (!intact(block, report)) ++damaged;
    }
    return damaged;
  }

 private:
  void reset(const HostWords& report) {
    DRV(cuMemsetD32Async(report.device(), 0u, report.size(), stream_.get()));
    stream_.wait();
  }

  bool intact(const Block& block, HostWords& report) {
    DRV(cuMemcpyDtoHAsync(report.host(), block.base, kWords * sizeof(std::uint32_t), stream_.get()));
    stream_.wait();
    return std::all_of(report.host(), report.host() + kWords,
                       [](std::uint32_t w) { return w == kPattern; });
  }

  DriverStream stream_;
};

class Arena {
 public:
  Arena() = default;
  ~Arena() {
    cuCtxSynchronize();
    for (auto& entry : live_) cuMemFree(entry.second.base);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr take(std::size_t bytes) {
    Block block{0, bytes};
    DRV(cuMemAlloc(&block.base, bytes + kHeader));
    checker_.plant(block);
    live_.emplace(block.base + kHeader, block);
    return block.base + kHeader;
  }

  void give(CUdeviceptr p) {
    auto it = live_.find(p);
    if (it == live_.end()) throw std::invalid_argument("not a block of this arena");
    DRV(cuCtxSynchronize());
    DRV(cuMemFree(it->second.base));
    live_.erase(it);
  }

  // May be called at any time, also while nothing is allocated.
  bool verify() {
    std::vector<Block> blocks;
    for (const auto& entry : live_) blocks.push_back(entry.second);
    return checker_.check(blocks) == 0;
  }

 private:
  static constexpr std::size_t kHeader = GuardChecker::kWords * sizeof(std::uint32_t);
  GuardChecker checker_;
  std::map<CUdeviceptr, Block> live_;
};

}  // namespace arena

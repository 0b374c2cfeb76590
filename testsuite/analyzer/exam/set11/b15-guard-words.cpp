// Guard-word check around the work buffers of a scanner driver (driver API).
// The guard pattern of every region is compared with a reference page.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace scanner {

constexpr std::uint32_t kPattern = 0xfeedc0deu;
constexpr std::size_t kGuardWords = 1024;

#define CU(call)                                                     \
  do {                                                               \
    const CUresult result_ = (call);                                       \
    if (result_ != CUDA_SUCCESS) {                                         \
      const char* text = nullptr;                                    \
      cuGetErrorString(result_, &text);                                    \
      std::fprintf(stderr, "%s: %s\n", #call, text ? text : "?");    \
      std::abort();                                                  \
    }                                                                \
  } while (0)

/// Page-locked words that the device can address.
class PinnedWords {
 public:
  explicit PinnedWords(std::size_t n) {
    void* p = nullptr;
    CU(cuMemHostAlloc(&p, n * sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
    words_ = static_cast<std::uint32_t*>(p);
  }
  ~PinnedWords() { CU(cuMemFreeHost(words_)); }
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;

  const std::uint32_t* host() const { return words_; }
  std::uint32_t* host() { return words_; }
  CUdeviceptr device() const {
    CUdeviceptr d = 0;
    CU(cuMemHostGetDevicePointer(&d, words_, 0));
    return d;
  }

 private:
  std::uint32_t* words_ = nullptr;
};

struct Region {
  CUdeviceptr base;
  std::size_t payload;
};

class GuardChecker {
 public:
  GuardChecker() {
    CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~GuardChecker() {
    CU(cuStreamSynchronize(stream_));
    CU(cuStreamDestroy(stream_));
  }
  GuardChecker(const GuardChecker&) = delete;
  GuardChecker& operator=(const GuardChecker&) = delete;

  void paint(const Region& region) {
    CU(cuMemsetD32Async(region.base + region.payload, kPattern, kGuardWords, stream_));
  }

  /// Number of words that were overwritten, over all regions.
  std::size_t damaged(const std::vector<Region>& regions) {
    PinnedWords reference(kGuardWords);
    PinnedWords guard(kGuardWords);
    CU(cuMemsetD32Async(reference.device(), kPattern, kGuardWords, stream_));

    std::size_t bad = 0;
    for (const Region& region : regions) {
      read_guard(region, guard);
      bad += compare(reference, guard);
    }
    return bad;
  }

 private:
  void read_guard(const Region& region, PinnedWords& guard) {
    CU(cuMemcpyDtoHAsync(guard.host(), region.base + region.payload, kGuardWords * sizeof(std::uint32_t), stream_));
    CU(cuStreamSynchronize(stream_));
  }

  static std::size_t compare(const PinnedWords& reference, const PinnedWords& guard) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < kGuardWords; ++i) n += reference.host()[i] != guard.host()[i];
    return n;
  }

  CUstream stream_ = nullptr;
};

}  // namespace scanner

int main(int argc, char** argv) {
  CU(cuInit(0));
  CUdevice device;
  CUcontext context;
  CU(cuDeviceGet(&device, 0));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));

  const int count = argc > 1 ? std::atoi(argv[1]) : 0;
  {
    scanner::GuardChecker checker;
    std::vector<scanner::Region> regions;
    for (int i = 0; i < count; ++i) {
      scanner::Region r{0, 1u << 20};
      CU(cuMemAlloc(&r.base, r.payload + scanner::kGuardWords * sizeof(std::uint32_t)));
      checker.paint(r);
      regions.push_back(r);
    }
    std::printf("%zu damaged words\n", checker.damaged(regions));
    for (const auto& r : regions) CU(cuMemFree(r.base));
  }
  CU(cuDevicePrimaryCtxRelease(device));
  return 0;
}

// Guard-word verification for the multibeam sonar receive buffers. Every beam slab carries a few guard words behind its last
// sample; after a ping they are compared with the fill pattern, so that an overrunning matched filter is found early.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define DRV(call)                                                                          \
  do {                                                                                     \
    CUresult status_ = (call);                                                             \
    if (status_ != CUDA_SUCCESS) {                                                         \
      const char* text_ = nullptr;                                                         \
      cuGetErrorString(status_, &text_);                                                   \
      throw std::runtime_error(std::string(#call) + ": " + (text_ ? text_ : "unknown"));   \
    }                                                                                      \
  } while (0)

namespace sonar {

constexpr std::uint32_t kGuardPattern = 0xA5C3F00Du;
constexpr std::size_t kGuardWords = 1u << 20;

struct BeamSlab {
  CUdeviceptr samples = 0;
  std::size_t sample_bytes = 0;
  int beam_id = -1;

  CUdeviceptr guard() const { return samples + sample_bytes; }
};

// Page-locked words that the device can address as well.
class PinnedWords {
 public:
  explicit PinnedWords(std::size_t count) : count_(count) {
    DRV(cuMemHostAlloc(reinterpret_cast<void**>(&host_), count * sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
    DRV(cuMemHostGetDevicePointer(&device_, host_, 0));
  }
  ~PinnedWords() {
    if (host_) cuMemFreeHost(host_);
  }
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;

  void fill(std::uint32_t value, CUstream stream) {
    DRV(cuMemsetD32Async(device_, value, count_, stream));
    DRV(cuStreamSynchronize(stream));
  }

  std::uint32_t* data() { return host_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(std::uint32_t); }

 private:
  std::uint32_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  std::size_t count_;
};

struct Overrun {
  int beam_id;
  std::size_t first_word;
};

class GuardChecker {
 public:
  explicit GuardChecker(CUstream stream) : stream_(stream) {}

  std::vector<Overrun> check(const std::vector<BeamSlab>& beams) {
    PinnedWords expected(kGuardWords);
    PinnedWords actual(kGuardWords);
    expected.fill(kGuardPattern, stream_);

    std::vector<Overrun> overruns;
    for (const BeamSlab& beam : beams) {
      DRV(cuMemcpyDtoHAsync(actual.data(), beam.guard(), actual.bytes(), stream_));
      DRV(cuStreamSynchronize(stream_));
      compare(beam, expected, actual, overruns);
    }
    return overruns;
  }

 private:
  static void compare(const BeamSlab& beam, PinnedWords& expected, PinnedWords& actual, std::vector<Overrun>& out) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected.data()[i] != actual.data()[i]) {
        out.push_back({beam.beam_id, i});
        return;
      }
    }
  }

  CUstream stream_;
};

class ReceiveArray {
 public:
  void add_beam(int id, std::size_t bytes, CUstream stream) {
    BeamSlab slab;
    slab.sample_bytes = bytes;
    slab.beam_id = id;
    DRV(cuMemAlloc(&slab.samples, bytes + kGuardWords * sizeof(std::uint32_t)));
    DRV(cuMemsetD32Async(slab.guard(), kGuardPattern, kGuardWords, stream));
    slabs_.push_back(slab);
  }
  void release() {
    for (BeamSlab& slab : slabs_) cuMemFree(slab.samples);
    slabs_.clear();
  }
  const std::vector<BeamSlab>& slabs() const { return slabs_; }

 private:
  std::vector<BeamSlab> slabs_;
};

}  // namespace sonar

int main() {
  DRV(cuInit(0));
  CUdevice device;
  DRV(cuDeviceGet(&device, 0));
  CUcontext context;
  DRV(cuDevicePrimaryCtxRetain(&context, device));
  DRV(cuCtxSetCurrent(context));
  CUstream stream;
  DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

  sonar::GuardChecker checker(stream);
  sonar::ReceiveArray array;

  // The self test runs before the first beam is configured.
  std::size_t overruns = checker.check(array.slabs()).size();

  for (int beam = 0; beam < 4; ++beam) array.add_beam(beam, 8u << 20, stream);
  overruns += checker.check(array.slabs()).size();
  std::printf("%zu overruns\n", overruns);

  DRV(cuStreamSynchronize(stream));
  array.release();
  DRV(cuStreamDestroy(stream));
  DRV(cuDevicePrimaryCtxRelease(device));
  return overruns == 0 ? 0 : 1;
}

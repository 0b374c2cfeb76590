// Checks the guard bands that surround sensor ring buffers on the device.  Each band is compared with
// a pattern that is kept in page-locked host memory.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define DRV(call)                                                          \
  do {                                                                     \
    CUresult rc_ = (call);                                                 \
    if (rc_ != CUDA_SUCCESS) {                                             \
      const char* name_ = nullptr;                                         \
      cuGetErrorName(rc_, &name_);                                         \
      std::fprintf(stderr, "%s -> %s\n", #call, name_ ? name_ : "?");      \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

constexpr uint32_t kPattern = 0xfee1deadu;
constexpr size_t kBandBytes = 4096;

class PinnedBytes {
 public:
  explicit PinnedBytes(size_t bytes) { DRV(cuMemHostAlloc(&p_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)); }
  ~PinnedBytes() { cuMemFreeHost(p_); }
  PinnedBytes(const PinnedBytes&) = delete;
  PinnedBytes& operator=(const PinnedBytes&) = delete;

  void* host() const { return p_; }
  CUdeviceptr device() const {
    CUdeviceptr d = 0;
    DRV(cuMemHostGetDevicePointer(&d, p_, 0));
    return d;
  }

 private:
  void* p_ = nullptr;
};

struct GuardedBuffer {
  CUdeviceptr base = 0;  // band | payload | band
  size_t payload = 0;

  CUdeviceptr front() const { return base; }
  CUdeviceptr back() const { return base + kBandBytes + payload; }
};

GuardedBuffer makeGuarded(size_t payload, CUstream stream) {
  GuardedBuffer b;
  b.payload = payload;
  DRV(cuMemAlloc(&b.base, payload + 2 * kBandBytes));
  DRV(cuMemsetD32Async(b.front(), kPattern, kBandBytes / 4, stream));
  DRV(cuMemsetD32Async(b.back(), kPattern, kBandBytes / 4, stream));
  return b;
}

// Returns the number of damaged bands among `buffers`.
int countDamagedBands(const std::vector<GuardedBuffer>& buffers, CUstream stream) {
  PinnedBytes expected(kBandBytes);
  PinnedBytes actual(kBandBytes);
  DRV(cuMemsetD32Async(expected.device(), kPattern, kBandBytes / 4, stream));

  int damaged = 0;
  for (const GuardedBuffer& b : buffers) {
    for (CUdeviceptr band : {b.front(), b.back()}) {
      DRV(cuMemcpyDtoHAsync(actual.host(), band, kBandBytes, stream));
      DRV(cuStreamSynchronize(stream));
      if (std::memcmp(actual.host(), expected.host(), kBandBytes) != 0) ++damaged;
    }
  }
  DRV(cuStreamSynchronize(stream));
  return damaged;
}

class SensorRig {
 public:
  explicit SensorRig(CUstream stream) : stream_(stream) {}
  ~SensorRig() { clear(); }

  void attach(size_t payload) { rings_.push_back(makeGuarded(payload, stream_)); }

  void clear() {
    DRV(cuStreamSynchronize(stream_));
    for (auto& r : rings_) cuMemFree(r.base);
    rings_.clear();
  }

  bool healthy() const { return countDamagedBands(rings_, stream_) == 0; }

 private:
  CUstream stream_;
  std::vector<GuardedBuffer> rings_;
};

int main() {
  DRV(cuInit(0));
  CUdevice device;
  CUcontext context;
  DRV(cuDeviceGet(&device, 0));
  DRV(cuDevicePrimaryCtxRetain(&context, device));
  DRV(cuCtxSetCurrent(context));
  CUstream stream;
  DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    SensorRig rig(stream);
    bool ok = rig.healthy();  // nothing attached yet
    rig.attach(1 << 20);
    rig.attach(1 << 16);
    ok = ok && rig.healthy();
    std::printf("%s\n", ok ? "ok" : "damaged");
  }
  DRV(cuStreamDestroy(stream));
  DRV(cuDevicePrimaryCtxRelease(device));
  return 0;
}

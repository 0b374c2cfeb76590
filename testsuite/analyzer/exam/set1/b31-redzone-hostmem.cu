// Redzone checking for the autotuner (driver API).
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void CheckDriver(CUresult res, const char* what) {
  if (res == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(res, &name);
  std::fprintf(stderr, "%s failed: %s\n", what, name ? name : "?");
  std::abort();
}

// Page-locked, device-accessible host memory.
class MappedHostMemory {
 public:
  explicit MappedHostMemory(size_t bytes) {
    CheckDriver(cuMemHostAlloc(&host_, bytes, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
    CheckDriver(cuMemHostGetDevicePointer(&device_, host_, 0), "cuMemHostGetDevicePointer");
  }
  ~MappedHostMemory() { CheckDriver(cuMemFreeHost(host_), "cuMemFreeHost"); }
  MappedHostMemory(const MappedHostMemory&) = delete;
  MappedHostMemory& operator=(const MappedHostMemory&) = delete;

  CUdeviceptr device() const { return device_; }
  volatile uint32_t* host() const { return static_cast<volatile uint32_t*>(host_); }

 private:
  void* host_ = nullptr;
  CUdeviceptr device_ = 0;
};

}  // namespace

struct GuardedBuffer {
  CUdeviceptr data;
  size_t redzone_words;
};

class RedzoneAllocator {
 public:
  RedzoneAllocator(CUstream stream, CUfunction compare) : stream_(stream), compare_(compare) {}

  void Track(CUdeviceptr data, size_t redzone_words) { buffers_.push_back({data, redzone_words}); }

  // True if no kernel has written outside of its buffers.
  bool CheckRedzones();

 private:
  void LaunchCompare(const GuardedBuffer& b, CUdeviceptr mismatches) {
    CUdeviceptr data = b.data;
    uint64_t words = b.redzone_words;
    void* args[] = {&data, &words, &mismatches};
    CheckDriver(cuLaunchKernel(compare_, 64, 1, 1, 128, 1, 1, 0, stream_, args, nullptr), "cuLaunchKernel");
  }

  CUstream stream_;
  CUfunction compare_;
  std::vector<GuardedBuffer> buffers_;
};

bool RedzoneAllocator::CheckRedzones() {
  MappedHostMemory mismatches(sizeof(uint32_t));
  CheckDriver(cuMemsetD32Async(mismatches.device(), 0, 1, stream_), "cuMemsetD32Async");

  bool clean = true;
  for (const GuardedBuffer& b : buffers_) {
    LaunchCompare(b, mismatches.device());
    CheckDriver(cuStreamSynchronize(stream_), "cuStreamSynchronize");
    if (*mismatches.host() != 0) {
      clean = false;
      break;
    }
  }
  return clean;
}

// Guard bands around scratch buffers handed to auto-tuned GEMM candidates.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace autotune {

class DriverError : public std::runtime_error {
 public:
  explicit DriverError(CUresult r) : std::runtime_error("CUDA driver error " + std::to_string(int(r))) {}
};

inline void Ok(CUresult r) {
  if (r != CUDA_SUCCESS) throw DriverError(r);
}

class Executor {
 public:
  explicit Executor(int ordinal) {
    Ok(cuInit(0));
    Ok(cuDeviceGet(&device_, ordinal));
    Ok(cuDevicePrimaryCtxRetain(&context_, device_));
    Ok(cuCtxSetCurrent(context_));
    Ok(cuStreamCreate(&memory_, CU_STREAM_NON_BLOCKING));
  }
  ~Executor() {
    cuStreamSynchronize(memory_);
    cuStreamDestroy(memory_);
    cuDevicePrimaryCtxRelease(device_);
  }

  CUdeviceptr Allocate(std::size_t bytes) {
    CUdeviceptr p = 0;
    Ok(cuMemAllocAsync(&p, bytes, memory_));
    Ok(cuStreamSynchronize(memory_));
    return p;
  }
  void Deallocate(CUdeviceptr p) { Ok(cuMemFreeAsync(p, memory_)); }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream memory_ = nullptr;
};

class OwnedMemory {
 public:
  OwnedMemory(Executor& ex, std::size_t bytes) : ex_(&ex), ptr_(ex.Allocate(bytes)), bytes_(bytes) {}
  OwnedMemory(OwnedMemory&& o) noexcept : ex_(o.ex_), ptr_(std::exchange(o.ptr_, 0)), bytes_(o.bytes_) {}
  ~OwnedMemory() {
    if (ptr_) ex_->Deallocate(ptr_);
  }
  CUdeviceptr opaque() const { return ptr_; }
  std::size_t size() const { return bytes_; }

 private:
  Executor* ex_;
  CUdeviceptr ptr_;
  std::size_t bytes_;
};

constexpr std::size_t kBand = 1 << 20;
constexpr std::uint32_t kPattern = 0xdeadfeedu;

struct GuardedBuffer {
  std::size_t payload;
  OwnedMemory memory;
};

class RedzoneChecker {
 public:
  RedzoneChecker(Executor& ex, CUmodule module, CUstream stream) : ex_(ex), stream_(stream) {
    Ok(cuModuleGetFunction(&compare_, module, "redzone_compare"));
  }

  CUdeviceptr Guard(std::size_t payload) {
    GuardedBuffer g{payload, OwnedMemory(ex_, payload + 2 * kBand)};
    CUdeviceptr base = g.memory.opaque();
    Ok(cuMemsetD32Async(base, kPattern, kBand / 4, stream_));
    Ok(cuMemsetD32Async(base + kBand + payload, kPattern, kBand / 4, stream_));
    guarded_.push_back(std::move(g));
    return base + kBand;
  }

  // Number of damaged words over all buffers handed out so far.
  std::uint64_t Check() {
    OwnedMemory counter(ex_, sizeof(std::uint64_t));
    Ok(cuMemsetD32Async(counter.opaque(), 0, 2, stream_));
    std::uint64_t total = 0;
    for (const GuardedBuffer& g : guarded_) {
      CUdeviceptr lo = g.memory.opaque(), hi = lo + kBand + g.payload;
      Launch(lo, counter.opaque());
      Launch(hi, counter.opaque());
    }
    Ok(cuMemcpyDtoHAsync(&total, counter.opaque(), sizeof total, stream_));
    Ok(cuStreamSynchronize(stream_));
    return total;
  }

 private:
  void Launch(CUdeviceptr band, CUdeviceptr counter) {
    std::uint32_t words = kBand / 4, pattern = kPattern;
    void* args[] = {&band, &words, &pattern, &counter};
    Ok(cuLaunchKernel(compare_, words / 256, 1, 1, 256, 1, 1, 0, stream_, args, nullptr));
  }

  Executor& ex_;
  CUstream stream_;
  CUfunction compare_ = nullptr;
  std::vector<GuardedBuffer> guarded_;
};

bool Profile(Executor& ex, CUmodule module, CUfunction candidate, CUstream stream,
             const std::vector<std::size_t>& scratch) {
  RedzoneChecker zones(ex, module, stream);
  for (std::size_t bytes : scratch) {
    CUdeviceptr p = zones.Guard((bytes + 255) / 256 * 256);
    void* args[] = {&p};
    Ok(cuLaunchKernel(candidate, 132, 1, 1, 128, 1, 1, 0, stream, args, nullptr));
  }
  return zones.Check() == 0;
}

}  // namespace autotune

int main(int argc, char** argv) {
  autotune::Executor ex(0);
  CUmodule module;
  autotune::Ok(cuModuleLoad(&module, argc > 1 ? argv[1] : "candidates.cubin"));
  CUstream stream;
  autotune::Ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const std::vector<std::vector<std::size_t>> plans = {{}, {4096}, {1 << 16, 1 << 20}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    CUfunction fn;
    autotune::Ok(cuModuleGetFunction(&fn, module, ("gemm_" + std::to_string(i)).c_str()));
    std::printf("%zu: %s\n", i, autotune::Profile(ex, module, fn, stream, plans[i]) ? "ok" : "damaged");
  }
  autotune::Ok(cuStreamSynchronize(stream));
  autotune::Ok(cuStreamDestroy(stream));
  autotune::Ok(cuModuleUnload(module));
}

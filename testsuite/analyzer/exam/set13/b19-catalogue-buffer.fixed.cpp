// Thin buffer/queue layer over the driver API for the star-catalogue matcher.
#include <cuda.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace astro {

class DriverError : public std::runtime_error {
 public:
  explicit DriverError(CUresult r) : std::runtime_error(text(r)) {}

 private:
  static std::string text(CUresult r) {
    const char* s = nullptr;
    return cuGetErrorName(r, &s) == CUDA_SUCCESS ? s : "unknown driver error";
  }
};

inline void operator>>(CUresult r, std::nullptr_t) {
  if (r != CUDA_SUCCESS) throw DriverError(r);
}

class Context {
 public:
  explicit Context(int ordinal) {
    cuInit(0) >> nullptr;
    cuDeviceGet(&device_, ordinal) >> nullptr;
    cuDevicePrimaryCtxRetain(&ctx_, device_) >> nullptr;
    cuCtxSetCurrent(ctx_) >> nullptr;
  }
  ~Context() { cuDevicePrimaryCtxRelease(device_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  CUdevice device_{};
  CUcontext ctx_{};
};

class Queue;

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : n_(n) { cuMemAlloc(&ptr_, n * sizeof(T)) >> nullptr; }

  // Takes over the contents of an ordinary vector.
  explicit Buffer(const std::vector<T>& init) : Buffer(init.size()) {
    cuMemcpyHtoD(ptr_, init.data(), n_ * sizeof(T)) >> nullptr;
    cuStreamSynchronize(CU_STREAM_LEGACY) >> nullptr;
  }

  ~Buffer() {
    if (ptr_) cuMemFree(ptr_);
  }
  Buffer(Buffer&& o) noexcept : ptr_(std::exchange(o.ptr_, 0)), n_(o.n_) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  CUdeviceptr address() const { return ptr_; }
  std::size_t size() const { return n_; }

 private:
  CUdeviceptr ptr_ = 0;
  std::size_t n_;
};

class Queue {
 public:
  Queue() { cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) >> nullptr; }
  ~Queue() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <class... Args>
  void submit(CUfunction f, unsigned items, Args... args) {
    void* list[] = {static_cast<void*>(&args)...};
    constexpr unsigned kGroup = 128;
    cuLaunchKernel(f, (items + kGroup - 1) / kGroup, 1, 1, kGroup, 1, 1, 0, stream_, list,
                   nullptr) >> nullptr;
  }

  template <class T>
  std::vector<T> read(const Buffer<T>& b) {
    std::vector<T> out(b.size());
    cuMemcpyDtoHAsync(out.data(), b.address(), out.size() * sizeof(T), stream_) >> nullptr;
    cuStreamSynchronize(stream_) >> nullptr;
    return out;
  }

 private:
  CUstream stream_{};
};

struct Star {
  float ra, dec, magnitude;
};

class Matcher {
 public:
  Matcher(CUmodule module, const std::vector<Star>& catalogue) : catalogue_(catalogue) {
    cuModuleGetFunction(&nearest_, module, "nearest_star") >> nullptr;
  }

  std::vector<int> match(const std::vector<Star>& detections) {
    Buffer<Star> query(detections);
    Buffer<int> hit(detections.size());
    queue_.submit(nearest_, static_cast<unsigned>(query.size()), catalogue_.address(),
                  static_cast<int>(catalogue_.size()), query.address(),
                  static_cast<int>(query.size()), hit.address());
    return queue_.read(hit);
  }

 private:
  Buffer<Star> catalogue_;
  Queue queue_;
  CUfunction nearest_{};
};

std::vector<std::vector<int>> match_exposures(const std::string& image,
                                              const std::vector<Star>& catalogue,
                                              const std::vector<std::vector<Star>>& exposures) {
  Context ctx(0);
  CUmodule module{};
  cuModuleLoad(&module, image.c_str()) >> nullptr;
  std::vector<std::vector<int>> out;
  {
    Matcher m(module, catalogue);
    for (const auto& e : exposures) out.push_back(m.match(e));
  }
  cuModuleUnload(module) >> nullptr;
  return out;
}

}  // namespace astro

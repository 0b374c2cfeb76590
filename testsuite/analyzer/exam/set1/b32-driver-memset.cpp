#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace drv {

class error : public std::runtime_error {
public:
  error(CUresult r, const std::string &what) : std::runtime_error(what + " (" + std::to_string(r) + ")") {}
};

#define DRV(call)                                                             \
  do {                                                                        \
    CUresult r_ = call;                                                       \
    if (r_ != CUDA_SUCCESS)                                                   \
      throw ::drv::error(r_, #call);                                          \
  } while (0)

class queue {
public:
  queue() { DRV(cuStreamCreate(&s_, CU_STREAM_NON_BLOCKING)); }
  ~queue() {
    cuStreamSynchronize(s_);
    cuStreamDestroy(s_);
  }
  queue(const queue &) = delete;
  queue &operator=(const queue &) = delete;

  CUstream native() const { return s_; }
  void wait() { DRV(cuStreamSynchronize(s_)); }

private:
  CUstream s_ = nullptr;
};

class counters {
public:
  static constexpr std::size_t count = 64;

  counters() { DRV(cuMemAlloc(&mem_, count * sizeof(std::uint32_t))); }
  ~counters() { cuMemFree(mem_); }
  counters(const counters &) = delete;

  void reset(queue &q) {
    (void)q;
    DRV(cuMemsetD32(mem_, 0, count));
  }

  // Blocks until the values are there. `out` may be any host memory.
  void fetch(queue &q, std::array<std::uint32_t, count> &out) const {
    q.wait();
    DRV(cuMemcpyDtoH(out.data(), mem_, count * sizeof(std::uint32_t)));
  }

  CUdeviceptr address() const { return mem_; }

private:
  CUdeviceptr mem_ = 0;
};

class classifier {
public:
  classifier(CUmodule mod) { DRV(cuModuleGetFunction(&fn_, mod, "count_classes")); }

  void count(CUdeviceptr labels, std::uint32_t n, std::array<std::uint32_t, counters::count> &out) {
    hist_.reset(q_);
    launch(labels, n);
    hist_.fetch(q_, out);
  }

private:
  // count_classes(const uint8_t *labels, uint32_t n, uint32_t *counters):
  // atomically adds one to the counter of each label.
  void launch(CUdeviceptr labels, std::uint32_t n) {
    CUdeviceptr hist = hist_.address();
    void *params[] = {&labels, &n, &hist};
    DRV(cuLaunchKernel(fn_, (n + 255) / 256, 1, 1, 256, 1, 1, 0, q_.native(), params, nullptr));
  }

  CUfunction fn_ = nullptr;
  counters hist_;
  queue q_;
};

} // namespace drv

// Safe-ish owning device buffers on top of the stream-ordered allocator.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace oxide {

[[noreturn]] inline void panic(cudaError_t e, const char* expr, int line) {
  std::fprintf(stderr, "panicked at line %d: `%s`: %s\n", line, expr, cudaGetErrorString(e));
  std::abort();
}
#define UNWRAP(expr)                                         \
  do {                                                       \
    if (cudaError_t e__ = (expr); e__ != cudaSuccess) {      \
      ::oxide::panic(e__, #expr, __LINE__);                  \
    }                                                        \
  } while (0)

class Stream {
 public:
  static Stream non_blocking() {
    Stream s;
    UNWRAP(cudaStreamCreateWithFlags(&s.raw_, cudaStreamNonBlocking));
    return s;
  }
  Stream(Stream&& o) noexcept : raw_(std::exchange(o.raw_, nullptr)) {}
  ~Stream() {
    if (raw_) UNWRAP(cudaStreamDestroy(raw_));
  }
  cudaStream_t raw() const { return raw_; }
  void synchronize() const { UNWRAP(cudaStreamSynchronize(raw_)); }

  /// Makes everything enqueued here later wait for what `other` has been given so far.
  void wait_for(const Stream& other) const {
    cudaEvent_t ev;
    UNWRAP(cudaEventCreateWithFlags(&ev, cudaEventDisableTiming));
    UNWRAP(cudaEventRecord(ev, other.raw_));
    UNWRAP(cudaStreamWaitEvent(raw_, ev, 0));
    UNWRAP(cudaEventDestroy(ev));
  }

 private:
  Stream() = default;
  cudaStream_t raw_ = nullptr;
};

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::size_t len, const Stream& stream) : len_(len), stream_(&stream) {
    UNWRAP(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), len * sizeof(T), stream.raw()));
  }
  static DeviceBuffer zeroed(std::size_t len, const Stream& stream) {
    DeviceBuffer b(len, stream);
    UNWRAP(cudaMemsetAsync(b.ptr_, 0, len * sizeof(T), stream.raw()));
    return b;
  }
  DeviceBuffer(DeviceBuffer&& o) noexcept
      : ptr_(std::exchange(o.ptr_, nullptr)), len_(o.len_), stream_(o.stream_) {}
  ~DeviceBuffer() {
    if (ptr_) UNWRAP(cudaFreeAsync(ptr_, stream_->raw()));
  }
  T* as_ptr() const { return ptr_; }
  std::size_t len() const { return len_; }

 private:
  T* ptr_ = nullptr;
  std::size_t len_;
  const Stream* stream_;
};

__global__ void vec_scale_add(float* y, const float* x, float a, std::size_t n) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

void launch_axpy(DeviceBuffer<float>& y, const DeviceBuffer<float>& x, float a, const Stream& stream) {
  const unsigned grid = static_cast<unsigned>((x.len() + 127) / 128);
  vec_scale_add<<<grid, 128, 0, stream.raw()>>>(y.as_ptr(), x.as_ptr(), a, x.len());
  UNWRAP(cudaGetLastError());
}

void accumulate_step(DeviceBuffer<float>& acc, float weight, const Stream& upload, const Stream& compute) {
  auto scratch = DeviceBuffer<float>::zeroed(acc.len(), upload);
  compute.wait_for(upload);
  launch_axpy(acc, scratch, weight, compute);
  upload.wait_for(compute);
}

}  // namespace oxide

int main() {
  using namespace oxide;
  const Stream upload = Stream::non_blocking();
  const Stream compute = Stream::non_blocking();
  {
    auto acc = DeviceBuffer<float>::zeroed(1 << 24, compute);
    for (int step = 0; step < 16; ++step) {
      accumulate_step(acc, 0.125f * step, upload, compute);
    }
    compute.synchronize();
  }
  upload.synchronize();
  compute.synchronize();
  return 0;
}

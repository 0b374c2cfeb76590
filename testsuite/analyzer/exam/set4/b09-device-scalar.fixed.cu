// device_scalar: one value in stream-ordered device memory, initialised from the host.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mem {

#define MEM_TRY(call)                                                              \
  if (cudaError_t const e_ = (call); e_ != cudaSuccess) {                          \
    throw std::runtime_error(std::string{#call} + " -> " + cudaGetErrorName(e_)); \
  }

// Fixed-size cells in one page-locked slab.
class pinned_cells {
 public:
  static constexpr std::size_t cell = 64, count = 256;
  static pinned_cells& get() {
    static auto* pool = new pinned_cells;
    return *pool;
  }
  void* take() {
    std::lock_guard<std::mutex> lock{mtx_};
    if (free_.empty()) throw std::bad_alloc{};
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void put(void* p) noexcept {
    std::lock_guard<std::mutex> lock{mtx_};
    free_.push_back(p);
  }

 private:
  pinned_cells() {
    MEM_TRY(cudaHostAlloc(&slab_, cell * count, cudaHostAllocPortable));
    free_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) free_.push_back(static_cast<char*>(slab_) + i * cell);
  }
  std::mutex mtx_;
  void* slab_ = nullptr;
  std::vector<void*> free_;
};

template <typename T>
class pinned_value {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= pinned_cells::cell);

 public:
  explicit pinned_value(T const& v) : p_{new (pinned_cells::get().take()) T(v)} {}
  pinned_value(pinned_value&& o) noexcept : p_{std::exchange(o.p_, nullptr)} {}
  ~pinned_value() {
    if (p_) pinned_cells::get().put(p_);
  }
  T const* data() const noexcept { return p_; }

 private:
  T* p_;
};

template <typename T>
class device_scalar {
 public:
  explicit device_scalar(cudaStream_t stream) : stream_{stream} { MEM_TRY(cudaMallocAsync(&p_, sizeof(T), stream_)); }
  device_scalar(T const& initial, cudaStream_t stream) : device_scalar{stream} {
    pinned_value<T> const staged{initial};
    set_value_async(staged, stream);
    MEM_TRY(cudaStreamSynchronize(stream));
  }
  device_scalar(device_scalar const&) = delete;
  device_scalar(device_scalar&& o) noexcept : p_{std::exchange(o.p_, nullptr)}, stream_{o.stream_} {}
  ~device_scalar() {
    if (p_) cudaFreeAsync(p_, stream_);
  }

  void set_value_async(T&& v, cudaStream_t stream) = delete;
  void set_value_async(pinned_value<T> const& v, cudaStream_t stream) {
    MEM_TRY(cudaMemcpyAsync(p_, v.data(), sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  T value(cudaStream_t stream) const {
    T host{};
    MEM_TRY(cudaMemcpyAsync(&host, p_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    MEM_TRY(cudaStreamSynchronize(stream));
    return host;
  }
  T* data() const noexcept { return p_; }

 private:
  T* p_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace mem

namespace solver {

template <typename T>
__global__ void scaled_add(T* y, T const* x, T const* a, T const* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = *a * x[i] + *b * y[i];
}

class Relaxation {
 public:
  explicit Relaxation(int n) : n_{n} {
    MEM_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MEM_TRY(cudaMallocAsync(&x_, n_ * sizeof(double), stream_));
    MEM_TRY(cudaMallocAsync(&y_, n_ * sizeof(double), stream_));
    MEM_TRY(cudaMemsetAsync(x_, 0, n_ * sizeof(double), stream_));
    MEM_TRY(cudaMemsetAsync(y_, 0, n_ * sizeof(double), stream_));
    cublasCreate(&blas_);
    cublasSetStream(blas_, stream_);
    cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE);
  }
  ~Relaxation() {
    cudaFreeAsync(x_, stream_);
    cudaFreeAsync(y_, stream_);
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  double sweep(double omega) {
    mem::device_scalar<double> a{omega, stream_};
    mem::device_scalar<double> b{1.0 - omega, stream_};
    mem::device_scalar<double> norm{stream_};
    scaled_add<<<(n_ + 255) / 256, 256, 0, stream_>>>(y_, x_, a.data(), b.data(), n_);
    MEM_TRY(cudaGetLastError());
    cublasDnrm2(blas_, n_, y_, 1, norm.data());
    return norm.value(stream_);
  }

 private:
  int n_;
  cudaStream_t stream_{};
  cublasHandle_t blas_{};
  double *x_ = nullptr, *y_ = nullptr;
};

}  // namespace solver

int main() {
  solver::Relaxation r{1 << 22};
  double last = 0;
  for (int i = 0; i < 100; ++i) last = r.sweep(1.0 + i * 0.005);
  std::printf("%.6g\n", last);
}

// Queue abstraction over streams, with tasks for kernels and for copies.  Modelled on alpaka-group/alpaka#850.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#define ALPAKA_CUDA_RT_CHECK(x)                                                          \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

namespace alpaka {

class QueueCudaRt {
 public:
  QueueCudaRt() { ALPAKA_CUDA_RT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~QueueCudaRt() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  QueueCudaRt(QueueCudaRt const&) = delete;
  cudaStream_t native() const { return stream_; }

 private:
  cudaStream_t stream_{};
};

enum class Loc { Host, Dev };

template <typename T, Loc L>
class Buf {
 public:
  explicit Buf(size_t n) : n_(n) {
    if (L == Loc::Host) ALPAKA_CUDA_RT_CHECK(cudaMallocHost(&p_, n * sizeof(T)));
    else ALPAKA_CUDA_RT_CHECK(cudaMalloc(&p_, n * sizeof(T)));
  }
  ~Buf() {
    if (L == Loc::Host) cudaFreeHost(p_);
    else cudaFree(p_);
  }
  Buf(Buf const&) = delete;
  T* data() const { return p_; }
  size_t extent() const { return n_; }

 private:
  T* p_{};
  size_t n_;
};

template <Loc D, Loc S> struct CopyKind;
template <> struct CopyKind<Loc::Dev, Loc::Host> { static constexpr auto value = cudaMemcpyHostToDevice; };
template <> struct CopyKind<Loc::Host, Loc::Dev> { static constexpr auto value = cudaMemcpyDeviceToHost; };

// Blocking copy: the data have arrived when the call is over.
template <typename T, Loc D, Loc S>
void memcpy(QueueCudaRt& queue, Buf<T, D>& dst, Buf<T, S> const& src) {
  const size_t bytes = src.extent() * sizeof(T);
#ifdef FIXED
  ALPAKA_CUDA_RT_CHECK(cudaMemcpyAsync(dst.data(), src.data(), bytes, CopyKind<D, S>::value, queue.native()));
  ALPAKA_CUDA_RT_CHECK(cudaStreamSynchronize(queue.native()));
#else
  (void)queue;
  ALPAKA_CUDA_RT_CHECK(cudaMemcpy(dst.data(), src.data(), bytes, CopyKind<D, S>::value));
#endif
}

template <class Kernel, class... Args>
__global__ void entry(Kernel k, Args... args) {
  k(blockIdx.x * blockDim.x + threadIdx.x, args...);
}
template <class Kernel, class... Args>
void exec(QueueCudaRt& queue, int threads, Kernel k, Args... args) {
  entry<<<(threads + 127) / 128, 128, 0, queue.native()>>>(k, args...);
  ALPAKA_CUDA_RT_CHECK(cudaGetLastError());
}

}  // namespace alpaka

struct Mandel {
  __device__ void operator()(int i, float* out, int n, int iters) const {
    if (i >= n) return;
    float zr = 0, zi = 0, cr = -0.5f + i * 1e-6f;
    for (int k = 0; k < iters; ++k) {
      float t = zr * zr - zi * zi + cr;
      zi = 2 * zr * zi + 0.1f;
      zr = t;
    }
    out[i] = zr + zi;
  }
};

int main() {
  using namespace alpaka;
  constexpr int n = 1 << 16;
  QueueCudaRt queue;
  Buf<float, Loc::Dev> dev(n);
  Buf<float, Loc::Host> host(n);
  for (int frame = 0; frame < 4; ++frame) {
    exec(queue, n, Mandel{}, dev.data(), n, 100000 + frame);
    memcpy(queue, host, dev);
    std::printf("frame %d: %f\n", frame, host.data()[n / 2]);
  }
  ALPAKA_CUDA_RT_CHECK(cudaDeviceSynchronize());
  return 0;
}

// Reference-counted views that give their memory back with the last handle.  Modelled on kokkos/kokkos#9307.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#define KOKKOS_IMPL_CUDA_SAFE_CALL(x)                                                          \
  do {                                                                                         \
    cudaError_t e_ = (x);                                                                      \
    if (e_ != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));         \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (0)

namespace Kokkos {

class Cuda {  // an execution space instance = a stream
 public:
  Cuda() : stream_(make(), [](cudaStream_t s) { cudaStreamDestroy(s); }) {}
  cudaStream_t cuda_stream() const { return stream_.get(); }
  void fence() const { KOKKOS_IMPL_CUDA_SAFE_CALL(cudaStreamSynchronize(stream_.get())); }

 private:
  static cudaStream_t make() {
    cudaStream_t s;
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
  }
  std::shared_ptr<CUstream_st> stream_;
};

class SharedAllocationRecord {
 public:
  SharedAllocationRecord(std::string label, size_t bytes, Cuda space) : label_(std::move(label)), space_(space) {
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMalloc(&ptr_, bytes));
  }
  ~SharedAllocationRecord() {
#ifdef FIXED
    space_.fence();
#endif
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaFree(ptr_));
  }
  void* data() const { return ptr_; }

 private:
  std::string label_;
  Cuda space_;
  void* ptr_{};
};

template <typename T>
class View {
 public:
  View(Cuda const& space, std::string label, int n)
      : rec_(std::make_shared<SharedAllocationRecord>(std::move(label), n * sizeof(T), space)), n_(n) {}
  T* data() const { return static_cast<T*>(rec_->data()); }
  int extent() const { return n_; }

 private:
  std::shared_ptr<SharedAllocationRecord> rec_;
  int n_;
};

template <class F>
__global__ void parallel_for_kernel(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
#define PARALLEL_FOR(space, n, ...) parallel_for_kernel<<<((n) + 127) / 128, 128, 0, (space).cuda_stream()>>>((n), __VA_ARGS__)

struct InitFunctor {
  double* a;
  __device__ void operator()(int i) const { a[i] = 0.001 * (i % 1000); }
};
struct StencilFunctor {
  const double* in;
  double* out;
  int n, sweeps;
  __device__ void operator()(int i) const {
    double v = in[i];
    for (int k = 0; k < sweeps; ++k) v = v * 0.99999 + 1e-6;
    out[i] = v + in[(i + 1) % n];
  }
};

}  // namespace Kokkos

using Kokkos::Cuda;
using Kokkos::View;

static void smooth(Cuda const& space, View<double> const& result) {
  const int n = result.extent();
  View<double> scratch(space, "scratch", n);
  PARALLEL_FOR(space, n, Kokkos::InitFunctor{scratch.data()});
  PARALLEL_FOR(space, n, (Kokkos::StencilFunctor{scratch.data(), result.data(), n, 60000}));
  KOKKOS_IMPL_CUDA_SAFE_CALL(cudaGetLastError());
}  // scratch goes out of scope

int main() {
  constexpr int n = 1 << 15;
  Cuda space;
  double h = 0;
  {
    View<double> result(space, "result", n);
    for (int it = 0; it < 3; ++it) smooth(space, result);
    space.fence();
    KOKKOS_IMPL_CUDA_SAFE_CALL(cudaMemcpy(&h, result.data() + 17, sizeof h, cudaMemcpyDeviceToHost));
  }
  std::printf("result[17] = %g\n", h);
  return 0;
}

// Factor risk: covariance of thousands of instruments through a thin factor matrix.
// Desks are independent, each one has its own handle and stream; the large cuBLAS
// workspace is kept between calls because allocating it dominated small desks.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace risk {

void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
void check(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS status " + std::to_string(s));
}

struct FreeDevice {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using Device = std::unique_ptr<T, FreeDevice>;

template <typename T>
Device<T> device(std::size_t n) {
  void* p = nullptr;
  check(cudaMalloc(&p, n * sizeof(T)));
  return Device<T>(static_cast<T*>(p));
}

// Workspaces live as long as the cache.
class WorkspaceCache {
 public:
  void* get(std::size_t bytes) {
    auto& slot = slots_[bytes];
    if (!slot) slot = device<char>(bytes);
    return slot.get();
  }

 private:
  std::map<std::size_t, Device<char>> slots_;
};

class Desk {
 public:
  Desk(WorkspaceCache& cache, int instruments, int factors)
      : instruments_(instruments),
        factors_(factors),
        exposures_(device<float>(std::size_t(instruments) * factors)),
        covariance_(device<float>(std::size_t(instruments) * instruments)) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cublasCreate(&blas_));
    bindWorkspace(cache);
  }

  ~Desk() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void load(const std::vector<float>& exposures) {
    check(cudaMemcpyAsync(exposures_.get(), exposures.data(), exposures.size() * sizeof(float),
                          cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
  }

  // covariance = exposures^T * exposures / factors
  void submit() {
    const float alpha = 1.0f / factors_;
    const float beta = 0.0f;
    check(cublasSgemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, instruments_, instruments_, factors_, &alpha,
                      exposures_.get(), factors_, exposures_.get(), factors_, &beta, covariance_.get(),
                      instruments_));
  }

  float variance(int instrument) {
    float v = 0.0f;
    const std::size_t diagonal = std::size_t(instrument) * instruments_ + instrument;
    check(cudaMemcpyAsync(&v, covariance_.get() + diagonal, sizeof(v), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  static constexpr std::size_t kWorkspace = std::size_t(32) << 20;

  void bindWorkspace(WorkspaceCache& cache) {
    check(cublasSetStream(blas_, stream_));
    check(cublasSetWorkspace(blas_, cache.get(kWorkspace), kWorkspace));
  }

  int instruments_;
  int factors_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  Device<float> exposures_;
  Device<float> covariance_;
};

}  // namespace risk

int main() {
  constexpr int kFactors = 8192;
  constexpr int kDesks = 3;

  risk::WorkspaceCache cache;
  std::vector<std::unique_ptr<risk::Desk>> desks;
  for (int d = 0; d < kDesks; ++d) {
    const int instruments = 128 << d;
    desks.push_back(std::make_unique<risk::Desk>(cache, instruments, kFactors));
    desks.back()->load(std::vector<float>(std::size_t(instruments) * kFactors, 0.01f * (d + 1)));
  }
  for (auto& desk : desks) desk->submit();
  for (auto& desk : desks) std::printf("var[0] = %g\n", desk->variance(0));
  return 0;
}

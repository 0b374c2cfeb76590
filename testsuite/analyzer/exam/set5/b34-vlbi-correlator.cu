// Station pair correlator: forward transform, conjugate product, inverse transform.
#include <cufft.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace vlbi {

void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
void ok(cufftResult r) {
  if (r != CUFFT_SUCCESS) throw std::runtime_error("cufft");
}

namespace detail {

constexpr size_t kAreaBytes = size_t(256) << 20;

void*& area_slot() {
  static void* area = nullptr;
  return area;
}

void* work_area(size_t bytes) {
  if (bytes > kAreaBytes) throw std::length_error("transform too long");
  void*& area = area_slot();
  if (!area) ok(cudaMalloc(&area, kAreaBytes));
  return area;
}

__global__ void cross(cufftComplex* a, const cufftComplex* b, size_t n, float scale) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  cufftComplex x = a[i], y = b[i];
  a[i] = make_float2((x.x * y.x + x.y * y.y) * scale, (x.y * y.x - x.x * y.y) * scale);
}

__global__ void noise(cufftComplex* a, size_t n, unsigned seed) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) a[i] = make_float2(float((i * 1103515245u + seed) & 255) - 128.f, 0.f);
}

}  // namespace detail

void shutdown() {
  if (detail::area_slot()) ok(cudaFree(detail::area_slot()));
  detail::area_slot() = nullptr;
}

class Baseline {
 public:
  Baseline(int length, int batch) : n_(size_t(length) * batch), length_(length) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMalloc(&ref_, n_ * sizeof(cufftComplex)));
    ok(cudaMalloc(&remote_, n_ * sizeof(cufftComplex)));
    ok(cufftCreate(&plan_));
    ok(cufftSetAutoAllocation(plan_, 0));
    size_t bytes = 0;
    ok(cufftMakePlan1d(plan_, length, CUFFT_C2C, batch, &bytes));
    area_ = detail::work_area(bytes);
    ok(cufftSetWorkArea(plan_, area_));
    ok(cufftSetStream(plan_, stream_));
  }
  ~Baseline() {
    cudaStreamSynchronize(stream_);
    cufftDestroy(plan_);
    cudaFree(remote_);
    cudaFree(ref_);
    cudaStreamDestroy(stream_);
  }
  Baseline(const Baseline&) = delete;

  void ingest(unsigned seed) {
    detail::noise<<<blocks(), 256, 0, stream_>>>(ref_, n_, seed);
    detail::noise<<<blocks(), 256, 0, stream_>>>(remote_, n_, seed * 7 + 1);
  }

  void spectra() {
    ok(cufftExecC2C(plan_, ref_, ref_, CUFFT_FORWARD));
    ok(cufftExecC2C(plan_, remote_, remote_, CUFFT_FORWARD));
  }

  void lags() {
    detail::cross<<<blocks(), 256, 0, stream_>>>(ref_, remote_, n_, 1.f / float(length_));
    ok(cufftExecC2C(plan_, ref_, ref_, CUFFT_INVERSE));
  }

  float zero_lag() {
    cufftComplex v;
    ok(cudaStreamSynchronize(stream_));
    ok(cudaMemcpy(&v, ref_, sizeof v, cudaMemcpyDeviceToHost));
    return v.x;
  }

 private:
  unsigned blocks() const { return unsigned((n_ + 255) / 256); }
  size_t n_;
  int length_;
  cudaStream_t stream_{};
  cufftHandle plan_{};
  void* area_ = nullptr;
  cufftComplex *ref_ = nullptr, *remote_ = nullptr;
};

}  // namespace vlbi

int main() {
  std::vector<std::unique_ptr<vlbi::Baseline>> pairs;
  for (int i = 0; i < 3; ++i) pairs.push_back(std::make_unique<vlbi::Baseline>(100003, 8));
  for (unsigned second = 0; second < 10; ++second) {
    for (auto& p : pairs) p->ingest(second);
    for (auto& p : pairs) p->spectra();
    for (auto& p : pairs) p->lags();
    for (auto& p : pairs) std::printf("%u %f\n", second, p->zero_lag());
  }
  pairs.clear();
  vlbi::shutdown();
}

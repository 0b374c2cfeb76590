#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

// Hail detection from dual-polarisation radar: three short kernels with overlapping prologues.

#define HAIL_CHECK(x)                                                     \
  do {                                                                    \
    const cudaError_t e_ = (x);                                           \
    if (e_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));       \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

__global__ void zdr_kernel(const float* h, const float* v, float* zdr, int n) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) zdr[i] = 10.f * log10f((h[i] + 1e-9f) / (v[i] + 1e-9f));
}

// Reads the measured power only; its prologue overlaps with zdr_kernel.
__global__ void hdr_kernel(const float* h, const float* melting, float* hdr, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float level = i < n ? melting[i % 512] : 0.f;
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  if (i < n) hdr[i] = 10.f * log10f(h[i] + 1e-9f) - level;
}

__global__ void classify_kernel(const float* zdr, const float* hdr, float* hail, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  if (i < n) hail[i] = hdr[i] > 60.f && fabsf(zdr[i]) < 1.f ? 1.f : 0.f;
}

template <typename... Params, typename... Args>
void launch_overlapped(void (*kernel)(Params...), int n, cudaStream_t stream, Args&&... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3((n + 255) / 256);
  cfg.blockDim = dim3(256);
  cfg.stream = stream;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  HAIL_CHECK(cudaLaunchKernelEx(&cfg, kernel, std::forward<Args>(args)...));
}

class HailDetector {
 public:
  explicit HailDetector(int n) : n_(n) {
    HAIL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (float** p : {&h_, &v_, &zdr_, &hdr_, &hail_}) HAIL_CHECK(cudaMalloc(p, n_ * sizeof(float)));
    HAIL_CHECK(cudaMalloc(&melting_, 512 * sizeof(float)));
    const std::vector<float> level(512, 35.f);
    HAIL_CHECK(cudaMemcpyAsync(melting_, level.data(), 512 * sizeof(float), cudaMemcpyHostToDevice,
                               stream_));
    HAIL_CHECK(cudaStreamSynchronize(stream_));
  }
  ~HailDetector() {
    cudaStreamSynchronize(stream_);
    for (float* p : {h_, v_, zdr_, hdr_, hail_, melting_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  HailDetector(const HailDetector&) = delete;
  HailDetector& operator=(const HailDetector&) = delete;

  float detect(const std::vector<float>& h, const std::vector<float>& v) {
    upload(h_, h);
    upload(v_, v);
    launch_overlapped(zdr_kernel, n_, stream_, h_, v_, zdr_, n_);
    launch_overlapped(hdr_kernel, n_, stream_, h_, melting_, hdr_, n_);
    launch_overlapped(classify_kernel, n_, stream_, zdr_, hdr_, hail_, n_);
    std::vector<float> host(n_);
    HAIL_CHECK(cudaMemcpyAsync(host.data(), hail_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    HAIL_CHECK(cudaStreamSynchronize(stream_));
    float cells = 0.f;
    for (float f : host) cells += f;
    return cells;
  }

 private:
  void upload(float* dst, const std::vector<float>& src) {
    HAIL_CHECK(cudaMemcpyAsync(dst, src.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
  }

  int n_;
  cudaStream_t stream_ = nullptr;
  float* h_ = nullptr;
  float* v_ = nullptr;
  float* zdr_ = nullptr;
  float* hdr_ = nullptr;
  float* hail_ = nullptr;
  float* melting_ = nullptr;
};

int main() {
  constexpr int kGates = 1 << 18;
  HailDetector detector(kGates);
  std::vector<float> h(kGates), v(kGates);
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (int i = 0; i < kGates; ++i) {
      h[i] = static_cast<float>((i * 97 + sweep) % 100000);
      v[i] = static_cast<float>((i * 89 + sweep) % 100000);
    }
    std::printf("sweep %d: %.0f cells with hail\n", sweep, detector.detect(h, v));
  }
  return 0;
}

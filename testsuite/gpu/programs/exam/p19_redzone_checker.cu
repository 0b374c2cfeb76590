// Red-zone allocator of an autotuner: results of the check live in host memory owned by RAII.
// Modelled on openxla/xla#46093.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CU_OK(x)                                                            \
  do {                                                                      \
    CUresult r_ = (x);                                                      \
    if (r_ != CUDA_SUCCESS) {                                               \
      const char* s_ = "?";                                                 \
      cuGetErrorString(r_, &s_);                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, s_);           \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)
#define RT_OK(x)                                                                        \
  do {                                                                                  \
    cudaError_t e_ = (x);                                                               \
    if (e_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));   \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

namespace stream_executor {

class HostMemory {
 public:
  explicit HostMemory(size_t bytes) {
    CU_OK(cuMemHostAlloc(&p_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  }
  ~HostMemory() {
    if (p_) CU_OK(cuMemFreeHost(p_));
  }
  HostMemory(const HostMemory&) = delete;
  CUdeviceptr device() const {
    CUdeviceptr d;
    CU_OK(cuMemHostGetDevicePointer(&d, p_, 0));
    return d;
  }
  unsigned* host() const { return static_cast<unsigned*>(p_); }

 private:
  void* p_{};
};

__global__ void candidate_gemm(float* c, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0;
  for (int j = 0; j < k; ++j) acc = fmaf(acc, 0.9999f, 0.125f);
  c[i] = acc;
}
__global__ void check_zone(const unsigned char* zone, int n, unsigned* mismatches) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (zone[i] != 0xba) atomicAdd_system(mismatches, 1u);
}

class RedzoneAllocator {
 public:
  explicit RedzoneAllocator(CUstream s) : stream_(s) {}
  ~RedzoneAllocator() {
    for (auto& z : zones_) cudaFree(z);
  }
  void AddZone(int bytes) {
    unsigned char* z;
    RT_OK(cudaMalloc(&z, bytes));
    RT_OK(cudaMemsetAsync(z, 0xba, bytes, stream_));
    zones_.push_back(z), bytes_.push_back(bytes);
  }
  int CheckRedzones() {
    HostMemory out(kWords * sizeof(unsigned));
    CU_OK(cuMemsetD32Async(out.device(), 0, kWords, stream_));
    int bad = 0;
    for (size_t i = 0; i < zones_.size(); ++i) {
      check_zone<<<1, 128, 0, stream_>>>(zones_[i], bytes_[i], reinterpret_cast<unsigned*>(out.device()));
      RT_OK(cudaGetLastError());
      CU_OK(cuStreamSynchronize(stream_));
      bad += int(out.host()[0]);
    }
#ifdef FIXED
    CU_OK(cuStreamSynchronize(stream_));
#endif
    return bad;
  }

 private:
  static constexpr size_t kWords = 1 << 16;
  CUstream stream_;
  std::vector<unsigned char*> zones_;
  std::vector<int> bytes_;
};

}  // namespace stream_executor

int main() {
  using namespace stream_executor;
  RT_OK(cudaFree(nullptr));
  CUstream stream;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  constexpr int n = 1 << 15;
  float* c;
  RT_OK(cudaMalloc(&c, n * sizeof(float)));
  int bad = 0;
  for (int candidate = 0; candidate < 4; ++candidate) {
    RedzoneAllocator redzones(stream);
    if (candidate % 2) redzones.AddZone(4096);  // some candidates need no scratch buffers at all
    candidate_gemm<<<n / 256, 256, 0, stream>>>(c, n, 300000);
    RT_OK(cudaGetLastError());
    bad += redzones.CheckRedzones();
  }
  CU_OK(cuStreamSynchronize(stream));
  std::printf("%d mismatches\n", bad);
  RT_OK(cudaFree(c));
  CU_OK(cuStreamDestroy(stream));
  return 0;
}

// Counts alleles per genome position and reports the variable ones.
//
// Single-stream work goes to ordinary (blocking) streams, so that the plain
// copies of the reporting code are ordered with it.

#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_TRY(call)                                                                      \
  do {                                                                                      \
    const cudaError_t status_ = (call);                                                     \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(EXIT_FAILURE);                                                              \
    }                                                                                       \
  } while (0)

template <class T>
struct DeviceArray {
  explicit DeviceArray(size_t n) : size(n) { CUDA_TRY(cudaMalloc(reinterpret_cast<void**>(&data), n * sizeof(T))); }
  ~DeviceArray() { cudaFree(data); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  size_t bytes() const { return size * sizeof(T); }
  T* data = nullptr;
  size_t size;
};

__global__ void count_alleles(const uint32_t* positions, const uint8_t* alleles, size_t n, uint32_t* alternate) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n && alleles[i] != 0) atomicAdd(&alternate[positions[i]], 1u);
}

__global__ void mark_variable(const uint32_t* alternate, uint32_t* flags, int n, uint32_t min_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flags[i] = alternate[i] >= min_count;
}

class Caller {
 public:
  explicit Caller(int genome) : genome_(genome), alternate_(genome), flags_(genome), ranks_(genome) {
    CUDA_TRY(cudaStreamCreate(&stream_));
    CUDA_TRY(cudaMemset(alternate_.data, 0, alternate_.bytes()));
  }
  ~Caller() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(stream_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void add(const std::vector<uint32_t>& positions, const std::vector<uint8_t>& alleles) {
    const size_t n = positions.size();
    DeviceArray<uint32_t> p(n);
    DeviceArray<uint8_t> a(n);
    CUDA_TRY(cudaMemcpy(p.data, positions.data(), p.bytes(), cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(a.data, alleles.data(), a.bytes(), cudaMemcpyHostToDevice));
    count_alleles<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream_>>>(p.data, a.data, n, alternate_.data);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(stream_));
  }

  // Number of positions with at least `min_count` alternate alleles.
  uint32_t variable(uint32_t min_count) {
    mark_variable<<<(genome_ + 255) / 256, 256, 0, stream_>>>(alternate_.data, flags_.data, genome_, min_count);
    CUDA_TRY(cudaGetLastError());
    rank();
    uint32_t total = 0;
    CUDA_TRY(cudaMemcpy(&total, ranks_.data + genome_ - 1, sizeof(total), cudaMemcpyDeviceToHost));
    return total;
  }

 private:
  void rank() {
    size_t temp_bytes = 0;
    CUDA_TRY(cub::DeviceScan::InclusiveSum(nullptr, temp_bytes, flags_.data, ranks_.data, genome_, stream_));
    DeviceArray<uint8_t> temp(temp_bytes);
    CUDA_TRY(cub::DeviceScan::InclusiveSum(temp.data, temp_bytes, flags_.data, ranks_.data, genome_, stream_));
    CUDA_TRY(cudaStreamSynchronize(stream_));
  }

  int genome_;
  DeviceArray<uint32_t> alternate_, flags_, ranks_;
  cudaStream_t stream_ = nullptr;
};

int main() {
  constexpr int kGenome = 1 << 20;
  std::mt19937 rng(11);
  Caller caller(kGenome);
  for (int batch = 0; batch < 8; ++batch) {
    std::vector<uint32_t> positions(1 << 20);
    std::vector<uint8_t> alleles(positions.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      positions[i] = rng() % kGenome;
      alleles[i] = rng() % 8 == 0;
    }
    caller.add(positions, alleles);
  }
  for (uint32_t k = 1; k < 5; ++k) std::printf(">= %u reads: %u positions\n", k, caller.variable(k));
  return 0;
}

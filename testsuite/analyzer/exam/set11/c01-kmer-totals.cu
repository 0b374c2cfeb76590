// K-mer spectrum of a read set: several samples are counted at once, each on
// its own (blocking) stream; totals are read through the default stream.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define KM_CHECK(expr)                                                       \
  do {                                                                       \
    cudaError_t status_ = (expr);                                            \
    if (status_ != cudaSuccess) {                                            \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(status_)); \
      std::abort();                                                          \
    }                                                                        \
  } while (0)

template <typename T>
class DeviceCell {
 public:
  DeviceCell() {
    KM_CHECK(cudaMalloc(reinterpret_cast<void**>(&device_), sizeof(T)));
    KM_CHECK(cudaMallocHost(reinterpret_cast<void**>(&mirror_), sizeof(T)));
  }
  DeviceCell(const DeviceCell&) = delete;
  DeviceCell& operator=(const DeviceCell&) = delete;
  ~DeviceCell() {
    KM_CHECK(cudaDeviceSynchronize());
    KM_CHECK(cudaFree(device_));
    KM_CHECK(cudaFreeHost(mirror_));
  }

  T* data() { return device_; }
  void reset(cudaStream_t stream = cudaStreamLegacy) { KM_CHECK(cudaMemsetAsync(device_, 0, sizeof(T), stream)); }
  T value(cudaStream_t stream = cudaStreamLegacy) const {
    KM_CHECK(cudaMemcpyAsync(mirror_, device_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    KM_CHECK(cudaStreamSynchronize(stream));
    return *mirror_;
  }

 private:
  T* device_ = nullptr;
  T* mirror_ = nullptr;
};

__global__ void count_distinct(const std::uint64_t* kmers, int n, unsigned* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (i == 0 || kmers[i] != kmers[i - 1])) atomicAdd(total, 1u);
}

class Sample {
 public:
  explicit Sample(const std::vector<std::uint64_t>& sorted) : n_(static_cast<int>(sorted.size())) {
    KM_CHECK(cudaStreamCreate(&stream_));
    KM_CHECK(cudaMalloc(reinterpret_cast<void**>(&kmers_), sizeof(std::uint64_t) * n_));
    KM_CHECK(cudaMemcpy(kmers_, sorted.data(), sizeof(std::uint64_t) * n_, cudaMemcpyHostToDevice));
  }
  ~Sample() {
    KM_CHECK(cudaStreamSynchronize(stream_));
    KM_CHECK(cudaFree(kmers_));
    KM_CHECK(cudaStreamDestroy(stream_));
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  void count() {
    distinct_.reset();
    count_distinct<<<(n_ + 255) / 256, 256, 0, stream_>>>(kmers_, n_, distinct_.data());
    KM_CHECK(cudaGetLastError());
  }

  unsigned distinct() const { return distinct_.value(); }

 private:
  int n_;
  cudaStream_t stream_ = nullptr;
  std::uint64_t* kmers_ = nullptr;
  DeviceCell<unsigned> distinct_;
};

int main() {
  std::vector<std::unique_ptr<Sample>> samples;
  for (int s = 0; s < 4; ++s) {
    std::vector<std::uint64_t> kmers(1 << 18);
    for (std::size_t i = 0; i < kmers.size(); ++i) kmers[i] = i / (s + 1);
    samples.push_back(std::make_unique<Sample>(kmers));
  }
  for (auto& s : samples) s->count();
  for (auto& s : samples) std::printf("%u distinct\n", s->distinct());
  return 0;
}

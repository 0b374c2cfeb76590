// Counts candidate variants over a pileup, one chromosome at a time.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CU_CHECK(expr)                                                             \
  do {                                                                             \
    cudaError_t status_ = (expr);                                                  \
    if (status_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::abort();                                                                \
    }                                                                              \
  } while (0)

namespace pileup {

struct Column {
  std::uint32_t depth;
  std::uint32_t alt;
};

/// A single value in device memory, with a pinned word to read it back.
template <typename T>
class DeviceScalar {
 public:
  explicit DeviceScalar(cudaStream_t owner) : owner_(owner) {
    CU_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&device_), sizeof(T), owner_));
    CU_CHECK(cudaMallocHost(reinterpret_cast<void**>(&mirror_), sizeof(T)));
  }
  DeviceScalar(const DeviceScalar&) = delete;
  DeviceScalar& operator=(const DeviceScalar&) = delete;
  ~DeviceScalar() {
    CU_CHECK(cudaFreeAsync(device_, owner_));
    CU_CHECK(cudaFreeHost(mirror_));
  }

  T* data() noexcept { return device_; }

  void set_to_zero(cudaStream_t stream) {
    CU_CHECK(cudaMemsetAsync(device_, 0, sizeof(T), stream));
  }

  T value(cudaStream_t stream = cudaStreamLegacy) const {
    CU_CHECK(cudaMemcpyAsync(mirror_, device_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    CU_CHECK(cudaStreamSynchronize(stream));
    return *mirror_;
  }

 private:
  cudaStream_t owner_;
  T* device_ = nullptr;
  T* mirror_ = nullptr;
};

__global__ void count_candidates(const Column* columns, int n, float min_fraction,
                                 unsigned long long* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Column c = columns[i];
  if (c.depth >= 8 && c.alt > min_fraction * c.depth) atomicAdd(total, 1ULL);
}

class CandidateCounter {
 public:
  explicit CandidateCounter(int max_columns) : capacity_(max_columns) {
    CU_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU_CHECK(cudaMalloc(reinterpret_cast<void**>(&columns_), sizeof(Column) * capacity_));
  }
  ~CandidateCounter() {
    CU_CHECK(cudaStreamSynchronize(stream_));
    CU_CHECK(cudaFree(columns_));
    CU_CHECK(cudaStreamDestroy(stream_));
  }
  CandidateCounter(const CandidateCounter&) = delete;
  CandidateCounter& operator=(const CandidateCounter&) = delete;

  unsigned long long run(const std::vector<Column>& pileup, float min_fraction) {
    const int n = static_cast<int>(pileup.size()) < capacity_ ? static_cast<int>(pileup.size()) : capacity_;
    CU_CHECK(cudaMemcpyAsync(columns_, pileup.data(), sizeof(Column) * n, cudaMemcpyHostToDevice, stream_));

    DeviceScalar<unsigned long long> total(stream_);
    total.set_to_zero(stream_);
    launch(n, min_fraction, total);
    const unsigned long long found = total.value();
    CU_CHECK(cudaStreamSynchronize(stream_));
    return found;
  }

 private:
  void launch(int n, float min_fraction, DeviceScalar<unsigned long long>& total) {
    const int block = 256;
    count_candidates<<<(n + block - 1) / block, block, 0, stream_>>>(columns_, n, min_fraction, total.data());
    CU_CHECK(cudaGetLastError());
  }

  int capacity_;
  cudaStream_t stream_ = nullptr;
  Column* columns_ = nullptr;
};

}  // namespace pileup

int main() {
  const std::vector<std::string> chromosomes = {"chr20", "chr21", "chr22"};
  pileup::CandidateCounter counter(1 << 20);
  for (const auto& name : chromosomes) {
    std::vector<pileup::Column> columns(1 << 20);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i] = {static_cast<std::uint32_t>(20 + i % 17), static_cast<std::uint32_t>(i % 11)};
    }
    std::printf("%s: %llu candidates\n", name.c_str(), counter.run(columns, 0.2f));
  }
  return 0;
}

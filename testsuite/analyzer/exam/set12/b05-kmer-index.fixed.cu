// Builds a bucketed k-mer index of a read set on the GPU.
//
//   1. count k-mers per bucket,
//   2. turn the counts into bucket offsets,
//   3. scatter the read positions into their buckets.

#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define CUDA_TRY(call)                                                                        \
  do {                                                                                        \
    const cudaError_t status_ = (call);                                                       \
    if (status_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));   \
      std::exit(EXIT_FAILURE);                                                                \
    }                                                                                         \
  } while (0)

namespace {

constexpr int kK = 12;
constexpr uint32_t kBuckets = 1u << 16;

__device__ __forceinline__ uint32_t bucket_of(const uint8_t* bases, size_t pos) {
  uint32_t h = 2166136261u;
  for (int i = 0; i < kK; ++i) h = (h ^ bases[pos + i]) * 16777619u;
  return h & (kBuckets - 1);
}

__global__ void count_kmers(const uint8_t* bases, size_t n, uint32_t* counts) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i + kK <= n) atomicAdd(&counts[bucket_of(bases, i)], 1u);
}

__global__ void scatter_positions(const uint8_t* bases, size_t n, uint32_t* cursors, uint32_t* positions) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i + kK <= n) positions[atomicAdd(&cursors[bucket_of(bases, i)], 1u)] = static_cast<uint32_t>(i);
}

template <class T>
class StreamArray {
 public:
  StreamArray(size_t n, cudaStream_t stream) : size_(n), stream_(stream) {
    CUDA_TRY(cudaMallocAsync(reinterpret_cast<void**>(&data_), n * sizeof(T), stream));
  }
  ~StreamArray() { cudaFreeAsync(data_, stream_); }
  StreamArray(const StreamArray&) = delete;
  StreamArray& operator=(const StreamArray&) = delete;

  T* data() { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t size_;
  cudaStream_t stream_;
};

class KmerIndex {
 public:
  KmerIndex() { CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~KmerIndex() { cudaStreamDestroy(stream_); }
  KmerIndex(const KmerIndex&) = delete;
  KmerIndex& operator=(const KmerIndex&) = delete;

  std::vector<uint32_t> build(const std::string& reads) {
    const size_t n = reads.size();
    StreamArray<uint8_t> bases(n, stream_);
    StreamArray<uint32_t> counts(kBuckets, stream_);
    StreamArray<uint32_t> offsets(kBuckets, stream_);
    StreamArray<uint32_t> positions(n, stream_);

    CUDA_TRY(cudaMemcpyAsync(bases.data(), reads.data(), n, cudaMemcpyHostToDevice, stream_));
    CUDA_TRY(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream_));

    const unsigned grid = static_cast<unsigned>((n + 255) / 256);
    count_kmers<<<grid, 256, 0, stream_>>>(bases.data(), n, counts.data());
    CUDA_TRY(cudaGetLastError());

    exclusive_offsets(counts, offsets);

    scatter_positions<<<grid, 256, 0, stream_>>>(bases.data(), n, offsets.data(), positions.data());
    CUDA_TRY(cudaGetLastError());

    std::vector<uint32_t> result(n - kK + 1);
    CUDA_TRY(cudaMemcpyAsync(result.data(), positions.data(), result.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                             stream_));
    CUDA_TRY(cudaStreamSynchronize(stream_));
    return result;
  }

 private:
  void exclusive_offsets(StreamArray<uint32_t>& counts, StreamArray<uint32_t>& offsets) {
    size_t temp_bytes = 0;
    const int items = static_cast<int>(counts.size());
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(nullptr, temp_bytes, counts.data(), offsets.data(), items));
    StreamArray<uint8_t> temp(temp_bytes, stream_);
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(temp.data(), temp_bytes, counts.data(), offsets.data(), items, stream_));
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace

int main() {
  std::mt19937 rng(7);
  std::string reads(1 << 22, 'A');
  for (char& c : reads) c = "ACGT"[rng() & 3];

  KmerIndex index;
  const std::vector<uint32_t> positions = index.build(reads);
  uint64_t checksum = 0;
  for (uint32_t p : positions) checksum += p;
  std::printf("%zu k-mers indexed, checksum %llu\n", positions.size(), static_cast<unsigned long long>(checksum));
  return 0;
}

// Groups k-mers of a read batch into buckets by minimizer; the bucket table is in CSR form.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace kmer {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

/// Owns a non-blocking stream; every object of a lane works on it.
class Lane {
 public:
  Lane() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  cudaStream_t stream() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "wait"); }

 private:
  cudaStream_t stream_{};
};

template <class T>
class LaneBuffer {
 public:
  LaneBuffer(const Lane& lane, std::size_t n) : lane_(&lane), size_(n) {
    check(cudaMallocAsync(reinterpret_cast<void**>(&data_), n * sizeof(T), lane.stream()), "alloc");
  }
  LaneBuffer(LaneBuffer&& o) noexcept : lane_(o.lane_), data_(std::exchange(o.data_, nullptr)), size_(o.size_) {}
  LaneBuffer(const LaneBuffer&) = delete;
  ~LaneBuffer() {
    if (data_) cudaFreeAsync(data_, lane_->stream());
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const Lane* lane_;
  T* data_ = nullptr;
  std::size_t size_;
};

__device__ inline std::uint32_t minimizerOf(std::uint64_t code) {
  std::uint32_t best = 0xffffffffu;
  for (int shift = 0; shift < 32; shift += 2) {
    std::uint32_t m = static_cast<std::uint32_t>(code >> shift) * 0x9e3779b1u;
    best = m < best ? m : best;
  }
  return best;
}

__global__ void countBuckets(const std::uint64_t* codes, std::size_t n, std::uint32_t* counts, std::uint32_t buckets) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) atomicAdd(&counts[minimizerOf(codes[i]) % buckets], 1u);
}

__global__ void scatter(const std::uint64_t* codes, std::size_t n, const std::uint32_t* offsets, std::uint32_t* cursor,
                        std::uint64_t* grouped, std::uint32_t buckets) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  std::uint32_t b = minimizerOf(codes[i]) % buckets;
  grouped[offsets[b] + atomicAdd(&cursor[b], 1u)] = codes[i];
}

class BucketIndex {
 public:
  BucketIndex(const Lane& lane, std::uint32_t buckets, std::size_t capacity)
      : lane_(lane),
        buckets_(buckets),
        counts_(lane, buckets),
        offsets_(lane, buckets),
        cursor_(lane, buckets),
        grouped_(lane, capacity),
        scratch_(lane, scratchBytes(buckets)) {
    lane_.wait();
  }

  /// `codes` must be ready on the lane's stream.
  void build(const std::uint64_t* codes, std::size_t n) {
    histogram(codes, n);
    prefix();
    const unsigned grid = static_cast<unsigned>((n + 255) / 256);
    check(cudaMemsetAsync(cursor_.data(), 0, cursor_.size() * sizeof(std::uint32_t), lane_.stream()), "cursor");
    scatter<<<grid, 256, 0, lane_.stream()>>>(codes, n, offsets_.data(), cursor_.data(), grouped_.data(), buckets_);
    check(cudaGetLastError(), "scatter");
  }

  const std::uint64_t* grouped() const { return grouped_.data(); }
  const std::uint32_t* offsets() const { return offsets_.data(); }

 private:
  static std::size_t scratchBytes(std::uint32_t buckets) {
    std::size_t bytes = 0;
    check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<std::uint32_t*>(nullptr),
                                        static_cast<std::uint32_t*>(nullptr), static_cast<int>(buckets)),
          "scan size");
    return bytes;
  }

  void histogram(const std::uint64_t* codes, std::size_t n) {
    const unsigned grid = static_cast<unsigned>((n + 255) / 256);
    check(cudaMemsetAsync(counts_.data(), 0, counts_.size() * sizeof(std::uint32_t), lane_.stream()), "counts");
    countBuckets<<<grid, 256, 0, lane_.stream()>>>(codes, n, counts_.data(), buckets_);
    check(cudaGetLastError(), "histogram");
  }

  void prefix() {
    std::size_t bytes = scratch_.size();
    check(cub::DeviceScan::ExclusiveSum(scratch_.data(), bytes, counts_.data(), offsets_.data(),
                                        static_cast<int>(buckets_), lane_.stream()),
          "scan");
  }

  const Lane& lane_;
  std::uint32_t buckets_;
  LaneBuffer<std::uint32_t> counts_;
  LaneBuffer<std::uint32_t> offsets_;
  LaneBuffer<std::uint32_t> cursor_;
  LaneBuffer<std::uint64_t> grouped_;
  LaneBuffer<unsigned char> scratch_;
};

void buildIndexForBatch(const std::uint64_t* hostCodes, std::size_t n, std::uint64_t* hostGrouped) {
  Lane lane;
  LaneBuffer<std::uint64_t> codes(lane, n);
  BucketIndex index(lane, 4096, n);
  check(cudaMemcpyAsync(codes.data(), hostCodes, n * sizeof(std::uint64_t), cudaMemcpyHostToDevice, lane.stream()), "in");
  index.build(codes.data(), n);
  check(cudaMemcpyAsync(hostGrouped, index.grouped(), n * sizeof(std::uint64_t), cudaMemcpyDeviceToHost, lane.stream()),
        "out");
  lane.wait();
}

}  // namespace kmer

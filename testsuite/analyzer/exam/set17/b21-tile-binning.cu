// Assigns projected splats to screen tiles: count, scan, emit.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#define SPLAT_CHECK(call)                                                             \
  do {                                                                                \
    cudaError_t err_ = (call);                                                        \
    if (err_ != cudaSuccess)                                                          \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(err_));   \
  } while (0)

namespace splat {

struct Footprint {
  uint16_t x0, y0, x1, y1;  // half-open tile rectangle
};

struct TilePair {
  uint32_t tile;
  uint32_t splat;
};

__global__ void countTiles(const Footprint* fp, uint32_t* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Footprint f = fp[i];
  counts[i] = uint32_t(f.x1 - f.x0) * uint32_t(f.y1 - f.y0);
}

__global__ void emitPairs(const Footprint* fp, const uint32_t* offsets, TilePair* pairs,
                          uint32_t capacity, int tilesX, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Footprint f = fp[i];
  uint32_t at = offsets[i];
  for (uint32_t y = f.y0; y < f.y1; ++y)
    for (uint32_t x = f.x0; x < f.x1; ++x, ++at)
      if (at < capacity) pairs[at] = TilePair{y * tilesX + x, uint32_t(i)};
}

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(size_t n) : size_(n) { SPLAT_CHECK(cudaMalloc(&data_, n * sizeof(T))); }
  DeviceArray(DeviceArray&& o) noexcept { swap(o); }
  DeviceArray& operator=(DeviceArray&& o) noexcept {
    swap(o);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(DeviceArray& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
};

// Exclusive prefix sum with scratch storage sized once for the largest input.
class PrefixSum {
 public:
  explicit PrefixSum(int maxItems) {
    size_t bytes = 0;
    const uint32_t* in = nullptr;
    uint32_t* out = nullptr;
    SPLAT_CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, maxItems));
    scratch_ = DeviceArray<unsigned char>(bytes);
  }

  void run(const uint32_t* in, uint32_t* out, int n, cudaStream_t stream) {
    if (n == 0) return;
    size_t bytes = scratch_.size();
    SPLAT_CHECK(cub::DeviceScan::ExclusiveSum(scratch_.data(), bytes, in, out, n));
    SPLAT_CHECK(cudaPeekAtLastError());
  }

 private:
  DeviceArray<unsigned char> scratch_;
};

class TileBinner {
 public:
  TileBinner(int maxSplats, int tilesX, uint32_t maxPairs)
      : tilesX_(tilesX), maxSplats_(maxSplats), counts_(maxSplats), offsets_(maxSplats),
        pairs_(maxPairs), scan_(maxSplats) {
    SPLAT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SPLAT_CHECK(cudaEventCreateWithFlags(&binned_, cudaEventDisableTiming));
  }
  TileBinner(const TileBinner&) = delete;
  ~TileBinner() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(binned_);
    cudaStreamDestroy(stream_);
  }

  // `projected` is recorded behind the projection of `fp`; the result is valid behind binned().
  // The caller orders its own last use of pairs() before the next call with `projected`.
  void bin(const Footprint* fp, int n, cudaEvent_t projected) {
    n = std::min(n, maxSplats_);
    SPLAT_CHECK(cudaStreamWaitEvent(stream_, projected, 0));
    const int grid = (n + kBlock - 1) / kBlock;
    if (grid > 0) {
      countTiles<<<grid, kBlock, 0, stream_>>>(fp, counts_.data(), n);
      SPLAT_CHECK(cudaGetLastError());
      scan_.run(counts_.data(), offsets_.data(), n, stream_);
      emitPairs<<<grid, kBlock, 0, stream_>>>(fp, offsets_.data(), pairs_.data(),
                                              uint32_t(pairs_.size()), tilesX_, n);
      SPLAT_CHECK(cudaGetLastError());
    }
    SPLAT_CHECK(cudaEventRecord(binned_, stream_));
  }

  const TilePair* pairs() const { return pairs_.data(); }
  cudaEvent_t binned() const { return binned_; }

 private:
  static constexpr int kBlock = 256;
  int tilesX_, maxSplats_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t binned_ = nullptr;
  DeviceArray<uint32_t> counts_, offsets_;
  DeviceArray<TilePair> pairs_;
  PrefixSum scan_;
};

}  // namespace splat

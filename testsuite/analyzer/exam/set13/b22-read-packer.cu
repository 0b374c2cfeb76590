// Packs variable-length sequencing reads into one 2-bit stream.
// lengths -> exclusive scan -> offsets -> scatter, everything stays on the device.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <stdexcept>
#include <utility>

namespace genopack {

inline void throwOnError(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Grow-only device memory.
class ScratchBuffer {
 public:
  ScratchBuffer() = default;
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;
  ~ScratchBuffer() { cudaFree(ptr_); }

  bool fits(std::size_t bytes) const { return bytes <= size_; }
  void reserve(std::size_t bytes) {
    if (fits(bytes)) return;
    throwOnError(cudaFree(std::exchange(ptr_, nullptr)), "cudaFree");
    throwOnError(cudaMalloc(&ptr_, bytes), "cudaMalloc");
    size_ = bytes;
  }
  template <typename T = void>
  T* as() const { return static_cast<T*>(ptr_); }

 private:
  void* ptr_ = nullptr;
  std::size_t size_ = 0;
};

__global__ void measureReads(const std::uint32_t* ends, std::uint32_t* words, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t begin = i == 0 ? 0u : ends[i - 1];
  words[i] = (ends[i] - begin + 15u) / 16u;
}

__global__ void packReads(const char* bases, const std::uint32_t* ends,
                          const std::uint32_t* offsets, std::uint32_t* packed, int n) {
  const int i = blockIdx.x;
  if (i >= n) return;
  const std::uint32_t begin = i == 0 ? 0u : ends[i - 1];
  const std::uint32_t length = ends[i] - begin;
  for (std::uint32_t w = threadIdx.x; w * 16u < length; w += blockDim.x) {
    std::uint32_t word = 0;
    for (std::uint32_t k = 0; k < 16u && w * 16u + k < length; ++k)
      word |= ((bases[begin + w * 16u + k] >> 1) & 3u) << (2u * k);
    packed[offsets[i] + w] = word;
  }
}

// CUB's two-phase protocol: the same functor answers for the size and does the work.
template <typename Algorithm>
std::size_t storageBytes(Algorithm&& algorithm) {
  std::size_t bytes = 0;
  throwOnError(algorithm(nullptr, bytes), "query temporary storage");
  return bytes;
}

template <typename Algorithm>
void runWithStorage(const ScratchBuffer& storage, Algorithm&& algorithm) {
  std::size_t bytes = storageBytes(algorithm);
  if (!storage.fits(bytes)) throw std::length_error("temporary storage too small");
  throwOnError(algorithm(storage.as<>(), bytes), "device algorithm");
}

class ReadPacker {
  auto offsetScan(int n) const {
    const auto* words = words_.as<std::uint32_t>();
    auto* offsets = offsets_.as<std::uint32_t>();
    return [=](void* temp, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(temp, bytes, words, offsets, n);
    };
  }

 public:
  explicit ReadPacker(int maxReads) : capacity_(maxReads) {
    throwOnError(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    words_.reserve(sizeof(std::uint32_t) * capacity_);
    offsets_.reserve(sizeof(std::uint32_t) * capacity_);
    storage_.reserve(storageBytes(offsetScan(capacity_)));
  }
  ~ReadPacker() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  ReadPacker(const ReadPacker&) = delete;
  ReadPacker& operator=(const ReadPacker&) = delete;

  cudaStream_t stream() const { return stream_; }

  // bases/ends were produced on stream(); packed may be used there afterwards.
  void pack(const char* bases, const std::uint32_t* ends, int n, std::uint32_t* packed) {
    if (n > capacity_) throw std::length_error("ReadPacker: batch too large");
    measure(ends, n);
    computeOffsets(n);
    packReads<<<n, 64, 0, stream_>>>(bases, ends, offsets_.as<std::uint32_t>(), packed, n);
    throwOnError(cudaGetLastError(), "packReads");
  }

  void wait() { throwOnError(cudaStreamSynchronize(stream_), "wait"); }

 private:
  void measure(const std::uint32_t* ends, int n) {
    measureReads<<<(n + 255) / 256, 256, 0, stream_>>>(ends, words_.as<std::uint32_t>(), n);
    throwOnError(cudaGetLastError(), "measureReads");
  }

  void computeOffsets(int n) { runWithStorage(storage_, offsetScan(n)); }

  int capacity_;
  cudaStream_t stream_ = nullptr;
  ScratchBuffer words_;
  ScratchBuffer offsets_;
  ScratchBuffer storage_;
};

}  // namespace genopack

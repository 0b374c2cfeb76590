// Minimizer index of a genome assembler: counts how often each minimizer hash
// occurs in the reads of a batch. The count table is temporary; what leaves
// this file is the list of frequent hashes.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace assembler {

inline void must(cudaError_t rc, const char* file, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(rc));
    std::abort();
  }
}
#define MUST(x) must((x), __FILE__, __LINE__)

// Stream-ordered device array; allocated and released on its home stream.
template <typename T>
class AsyncArray {
 public:
  AsyncArray(std::size_t n, cudaStream_t home) : n_(n), home_(home) {
    MUST(cudaMallocAsync(&data_, n * sizeof(T), home));
  }
  ~AsyncArray() { MUST(cudaFreeAsync(data_, home_)); }
  AsyncArray(const AsyncArray&) = delete;
  AsyncArray& operator=(const AsyncArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return n_; }

 private:
  std::size_t n_;
  cudaStream_t home_;
  T* data_ = nullptr;
};

// Reads of one chunk, packed two bits a base; uploaded by the loader on the
// work stream.
struct ReadChunk {
  const std::uint64_t* packed;
  std::size_t words;
};

__device__ inline std::uint32_t hash_word(std::uint64_t w) {
  w ^= w >> 33;
  w *= 0xff51afd7ed558ccdull;
  w ^= w >> 33;
  return static_cast<std::uint32_t>(w);
}

__global__ void reset_counts(std::uint32_t* counts, std::size_t n, std::uint32_t prior) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) counts[i] = prior;
}

__global__ void count_minimizers(const std::uint64_t* packed, std::size_t words, std::uint32_t* counts, std::uint32_t mask) {
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < words;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    atomicAdd(&counts[hash_word(packed[i]) & mask], 1u);
}

__global__ void note_frequent(const std::uint32_t* counts, std::size_t n, std::uint32_t threshold,
                              std::uint32_t* list, unsigned* found, unsigned capacity) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= n || counts[i] < threshold) return;
  const unsigned at = atomicAdd(found, 1u);
  if (at < capacity) list[at] = static_cast<std::uint32_t>(i);
}

class MinimizerIndex {
 public:
  // `home` owns the memory, `work` runs the kernels. Both outlive the index.
  MinimizerIndex(cudaStream_t home, cudaStream_t work) : home_(home), work_(work) {
    MUST(cudaEventCreateWithFlags(&owned_, cudaEventDisableTiming));
    MUST(cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming));
  }
  ~MinimizerIndex() {
    MUST(cudaEventDestroy(owned_));
    MUST(cudaEventDestroy(counted_));
  }

  // Appends to `list` (device, used on the work stream) the frequent hashes of each chunk so far.
  void scan(const std::vector<ReadChunk>& chunks, std::uint32_t threshold, std::uint32_t* list, unsigned* found,
            unsigned capacity) {
    AsyncArray<std::uint32_t> counts(kSlots, home_);
    MUST(cudaEventRecord(owned_, home_));
    MUST(cudaStreamWaitEvent(work_, owned_, 0));
    reset_counts<<<kSlots / 256, 256, 0, work_>>>(counts.data(), counts.size(), prior_);
    for (const ReadChunk& c : chunks) {
      count_minimizers<<<256, 256, 0, work_>>>(c.packed, c.words, counts.data(), kSlots - 1);
      note_frequent<<<kSlots / 256, 256, 0, work_>>>(counts.data(), counts.size(), threshold, list, found, capacity);
    }
    MUST(cudaEventRecord(counted_, work_));
    MUST(cudaStreamWaitEvent(home_, counted_, 0));
    MUST(cudaGetLastError());
  }

  void set_prior(std::uint32_t prior) { prior_ = prior; }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 22;

  cudaStream_t home_;
  cudaStream_t work_;
  cudaEvent_t owned_ = nullptr;
  cudaEvent_t counted_ = nullptr;
  std::uint32_t prior_ = 0;
};

}  // namespace assembler

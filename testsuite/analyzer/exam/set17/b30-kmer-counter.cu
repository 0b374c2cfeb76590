// Streams genome reads to the device and counts k-mers into a hashed sketch.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define KMER_CHECK(call)                                                           \
  do {                                                                             \
    const cudaError_t s_ = (call);                                                 \
    if (s_ != cudaSuccess)                                                         \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(s_));  \
  } while (0)

namespace kmer {

__global__ void packBases(const char* text, uint8_t* codes, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const char c = text[i];
  codes[i] = c == 'A' ? 0 : c == 'C' ? 1 : c == 'G' ? 2 : c == 'T' ? 3 : 4;
}

__global__ void countKmers(const uint8_t* codes, size_t n, int k, uint32_t* sketch,
                           uint32_t mask) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i + k > n) return;
  uint64_t word = 0;
  for (int j = 0; j < k; ++j) {
    const uint8_t c = codes[i + j];
    if (c > 3) return;
    word = (word << 2) | c;
  }
  word *= 0x9e3779b97f4a7c15ull;
  atomicAdd(&sketch[uint32_t(word >> 32) & mask], 1u);
}

// Stream-ordered allocation that lives on one stream.
class StreamBuffer {
 public:
  StreamBuffer(size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
    KMER_CHECK(cudaMallocAsync(&ptr_, bytes_, stream_));
  }
  StreamBuffer(StreamBuffer&& o) noexcept
      : ptr_(std::exchange(o.ptr_, nullptr)), bytes_(o.bytes_), stream_(o.stream_) {}
  StreamBuffer& operator=(StreamBuffer&&) = delete;
  ~StreamBuffer() {
    if (ptr_) cudaFreeAsync(ptr_, stream_);
  }
  template <typename T>
  T* as() const { return static_cast<T*>(ptr_); }
  size_t bytes() const { return bytes_; }
  // The stream on which the release is ordered.
  void setStream(cudaStream_t stream) { stream_ = stream; }

 private:
  void* ptr_ = nullptr;
  size_t bytes_;
  cudaStream_t stream_;
};

class Counter {
 public:
  Counter(int k, int log2Cells, size_t maxChunk)
      : k_(k), mask_((1u << log2Cells) - 1), maxChunk_(maxChunk) {
    KMER_CHECK(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking));
    KMER_CHECK(cudaStreamCreateWithFlags(&analysis_, cudaStreamNonBlocking));
    KMER_CHECK(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    KMER_CHECK(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    KMER_CHECK(cudaMallocHost(reinterpret_cast<void**>(&staging_), maxChunk_));
    KMER_CHECK(cudaMalloc(reinterpret_cast<void**>(&sketch_), (size_t(mask_) + 1) * 4));
    KMER_CHECK(cudaMemsetAsync(sketch_, 0, (size_t(mask_) + 1) * 4, analysis_));
  }
  Counter(const Counter&) = delete;
  ~Counter() {
    cudaStreamSynchronize(ingest_);
    cudaStreamSynchronize(analysis_);
    cudaFree(sketch_);
    cudaFreeHost(staging_);
    cudaEventDestroy(uploaded_);
    cudaEventDestroy(packed_);
    cudaStreamDestroy(analysis_);
    cudaStreamDestroy(ingest_);
  }

  // Consumes `reads` before it returns; the counting itself goes on in the background.
  void add(std::string_view reads) {
    while (!reads.empty()) {
      const std::string_view chunk = reads.substr(0, maxChunk_);
      count(load(chunk));
      if (chunk.size() == reads.size() || chunk.size() < size_t(k_)) break;
      reads.remove_prefix(chunk.size() - (k_ - 1));
    }
  }

  std::vector<uint32_t> sketch() {
    std::vector<uint32_t> host(size_t(mask_) + 1);
    KMER_CHECK(cudaMemcpyAsync(host.data(), sketch_, host.size() * 4, cudaMemcpyDeviceToHost,
                               analysis_));
    KMER_CHECK(cudaStreamSynchronize(analysis_));
    return host;
  }

 private:
  StreamBuffer load(std::string_view chunk) {
    KMER_CHECK(cudaEventSynchronize(uploaded_));
    std::memcpy(staging_, chunk.data(), chunk.size());
    StreamBuffer text(chunk.size(), ingest_);
    StreamBuffer codes(chunk.size(), ingest_);
    KMER_CHECK(cudaMemcpyAsync(text.as<char>(), staging_, chunk.size(), cudaMemcpyHostToDevice,
                               ingest_));
    KMER_CHECK(cudaEventRecord(uploaded_, ingest_));
    packBases<<<blocks(chunk.size()), 256, 0, ingest_>>>(text.as<char>(), codes.as<uint8_t>(),
                                                         chunk.size());
    KMER_CHECK(cudaGetLastError());
    return codes;
  }

  void count(StreamBuffer codes) {
    KMER_CHECK(cudaEventRecord(packed_, ingest_));
    KMER_CHECK(cudaStreamWaitEvent(analysis_, packed_, 0));
    countKmers<<<blocks(codes.bytes()), 256, 0, analysis_>>>(codes.as<uint8_t>(), codes.bytes(),
                                                             k_, sketch_, mask_);
    KMER_CHECK(cudaGetLastError());
  }

  static unsigned blocks(size_t n) { return static_cast<unsigned>((n + 255) / 256); }

  int k_;
  uint32_t mask_;
  size_t maxChunk_;
  cudaStream_t ingest_ = nullptr, analysis_ = nullptr;
  cudaEvent_t packed_ = nullptr, uploaded_ = nullptr;
  char* staging_ = nullptr;
  uint32_t* sketch_ = nullptr;
};

}  // namespace kmer

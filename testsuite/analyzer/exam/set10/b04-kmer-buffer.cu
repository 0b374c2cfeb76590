// K-mer spectrum of sequencing reads. Encoding and counting run on two streams.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace kmer {

inline void expect(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    void* p = nullptr;
    expect(cudaMallocAsync(&p, count * sizeof(T), stream), "cudaMallocAsync");
    ptr_ = static_cast<T*>(p);
  }
  DeviceBuffer(DeviceBuffer&& o) noexcept
      : ptr_(std::exchange(o.ptr_, nullptr)), count_(o.count_), stream_(o.stream_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (ptr_) cudaFreeAsync(ptr_, stream_);
  }

  T* data() const { return ptr_; }
  size_t size() const { return count_; }

 private:
  T* ptr_ = nullptr;
  size_t count_;
  cudaStream_t stream_;
};

__global__ void encode_bases(const char* text, uint8_t* codes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (text[i]) {
    case 'A': codes[i] = 0; break;
    case 'C': codes[i] = 1; break;
    case 'G': codes[i] = 2; break;
    case 'T': codes[i] = 3; break;
    default: codes[i] = 4;
  }
}

__global__ void count_kmers(const uint8_t* codes, int n, int k, unsigned* spectrum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + k > n) return;
  unsigned key = 0;
  for (int j = 0; j < k; ++j) {
    if (codes[i + j] > 3) return;
    key = key * 4 + codes[i + j];
  }
  atomicAdd(&spectrum[key], 1u);
}

class KmerIndex {
 public:
  explicit KmerIndex(int k) : k_(k) {
    expect(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking), "stream");
    expect(cudaStreamCreateWithFlags(&counting_, cudaStreamNonBlocking), "stream");
    expect(cudaEventCreateWithFlags(&encoded_, cudaEventDisableTiming), "event");
    expect(cudaMalloc(&spectrum_, bins() * sizeof(unsigned)), "spectrum");
    expect(cudaMemsetAsync(spectrum_, 0, bins() * sizeof(unsigned), counting_), "memset");
  }
  ~KmerIndex() {
    cudaStreamSynchronize(ingest_);
    cudaStreamSynchronize(counting_);
    cudaFree(spectrum_);
    cudaEventDestroy(encoded_);
    cudaStreamDestroy(counting_);
    cudaStreamDestroy(ingest_);
  }
  KmerIndex(const KmerIndex&) = delete;
  KmerIndex& operator=(const KmerIndex&) = delete;

  // reads must stay valid until this returns.
  void add_reads(std::string_view reads) {
    const int n = static_cast<int>(reads.size());
    DeviceBuffer<char> text(reads.size(), ingest_);
    DeviceBuffer<uint8_t> codes(reads.size(), ingest_);
    expect(cudaMemcpyAsync(text.data(), reads.data(), reads.size(), cudaMemcpyHostToDevice, ingest_), "upload");
    encode_bases<<<grid(n), kBlock, 0, ingest_>>>(text.data(), codes.data(), n);
    expect(cudaEventRecord(encoded_, ingest_), "record");
    count(codes, n);
    expect(cudaEventSynchronize(encoded_), "upload wait");
  }

  void spectrum(unsigned* host) const {
    expect(cudaMemcpyAsync(host, spectrum_, bins() * sizeof(unsigned), cudaMemcpyDeviceToHost, counting_), "download");
    expect(cudaStreamSynchronize(counting_), "download wait");
  }

  size_t bins() const { return size_t{1} << (2 * k_); }

 private:
  static constexpr int kBlock = 256;
  static int grid(int n) { return (n + kBlock - 1) / kBlock; }

  void count(const DeviceBuffer<uint8_t>& codes, int n) {
    expect(cudaStreamWaitEvent(counting_, encoded_, 0), "wait");
    count_kmers<<<grid(n), kBlock, 0, counting_>>>(codes.data(), n, k_, spectrum_);
    expect(cudaGetLastError(), "count_kmers");
  }

  int k_;
  cudaStream_t ingest_ = nullptr;
  cudaStream_t counting_ = nullptr;
  cudaEvent_t encoded_ = nullptr;
  unsigned* spectrum_ = nullptr;
};

}  // namespace kmer

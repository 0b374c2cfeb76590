// Compression of seismic traces.  Results go to pinned blocks which come from a
// preallocated slab; requests that do not fit get a block of their own.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace seis {

inline void require(cudaError_t status, const char* where) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(status));
}

// Fixed number of equal pinned chunks.  A released chunk is handed out again
// once the event recorded at its release has completed.
class PinnedSlab {
 public:
  PinnedSlab(size_t chunk_bytes, size_t chunks) : chunk_bytes_(chunk_bytes) {
    require(cudaMallocHost(&base_, chunk_bytes * chunks), "slab");
    for (size_t i = 0; i < chunks; ++i) {
      Chunk c;
      c.address = static_cast<char*>(base_) + i * chunk_bytes;
      require(cudaEventCreateWithFlags(&c.idle, cudaEventDisableTiming), "slab event");
      free_.push_back(c);
    }
  }
  ~PinnedSlab() {
    for (Chunk& c : free_) {
      cudaEventSynchronize(c.idle);
      cudaEventDestroy(c.idle);
    }
    cudaFreeHost(base_);
  }
  PinnedSlab(const PinnedSlab&) = delete;
  PinnedSlab& operator=(const PinnedSlab&) = delete;

  struct Chunk {
    char* address = nullptr;
    cudaEvent_t idle = nullptr;
  };

  bool take(size_t bytes, Chunk& out) {
    if (bytes > chunk_bytes_) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return false;
    out = free_.front();
    free_.pop_front();
    require(cudaEventSynchronize(out.idle), "slab wait");
    return true;
  }

  void give_back(const Chunk& c, cudaStream_t stream) {
    require(cudaEventRecord(c.idle, stream), "slab record");
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(c);
  }

 private:
  size_t chunk_bytes_;
  void* base_ = nullptr;
  std::mutex mutex_;
  std::deque<Chunk> free_;
};

// A pinned block used by work on one stream; released in the order of that stream.
class PinnedBlock {
 public:
  PinnedBlock(PinnedSlab& slab, size_t bytes, cudaStream_t stream) : slab_(slab), stream_(stream) {
    pooled_ = slab_.take(bytes, chunk_);
    if (!pooled_) require(cudaMallocHost(reinterpret_cast<void**>(&chunk_.address), bytes), "pinned block");
  }
  ~PinnedBlock() {
    if (pooled_) {
      slab_.give_back(chunk_, stream_);
      return;
    }
    cudaFreeHost(chunk_.address);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  template <class T>
  T* as() const { return reinterpret_cast<T*>(chunk_.address); }

 private:
  PinnedSlab& slab_;
  cudaStream_t stream_;
  PinnedSlab::Chunk chunk_;
  bool pooled_ = false;
};

struct TraceHeader {
  uint32_t samples;
  float scale;
};

__global__ void quantise(const float* traces, const TraceHeader* headers, int stride, int8_t* codes) {
  const TraceHeader h = headers[blockIdx.x];
  for (uint32_t s = threadIdx.x; s < h.samples; s += blockDim.x) {
    const float v = traces[static_cast<size_t>(blockIdx.x) * stride + s] * h.scale;
    codes[static_cast<size_t>(blockIdx.x) * stride + s] = static_cast<int8_t>(fminf(fmaxf(v, -127.0f), 127.0f));
  }
}

class Compressor {
 public:
  Compressor(PinnedSlab& slab, cudaStream_t stream, int max_traces, int stride)
      : slab_(slab), stream_(stream), max_traces_(max_traces), stride_(stride) {
    require(cudaMalloc(reinterpret_cast<void**>(&headers_), sizeof(TraceHeader) * max_traces), "headers");
  }
  ~Compressor() {
    cudaStreamSynchronize(stream_);
    cudaFree(headers_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Queues the compression of one gather; codes is complete in stream order.
  void compress(const float* traces, const std::vector<float>& peaks, int8_t* codes) {
    const int n = static_cast<int>(peaks.size());
    if (n == 0 || n > max_traces_) throw std::invalid_argument("gather size");
    upload_headers(peaks);
    quantise<<<n, 128, 0, stream_>>>(traces, headers_, stride_, codes);
    require(cudaGetLastError(), "quantise");
  }

 private:
  void upload_headers(const std::vector<float>& peaks) {
    const size_t bytes = peaks.size() * sizeof(TraceHeader);
    PinnedBlock block(slab_, bytes, stream_);
    TraceHeader* h = block.as<TraceHeader>();
    for (size_t i = 0; i < peaks.size(); ++i) h[i] = {static_cast<uint32_t>(stride_), 127.0f / (peaks[i] + 1e-20f)};
    require(cudaMemcpyAsync(headers_, h, bytes, cudaMemcpyHostToDevice, stream_), "upload headers");
  }

  PinnedSlab& slab_;
  cudaStream_t stream_;
  int max_traces_, stride_;
  TraceHeader* headers_ = nullptr;
};

}  // namespace seis

// Detector readout: hits per trigger are counted, scanned and packed into events.
// The scan helper of our common library predates streams and always works on the
// default stream; the builder itself must not block other users of that stream.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace readout {

inline void attempt(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Hit {
  int trigger;
  float charge;
};

__global__ void countHits(const Hit* hits, int n, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[hits[i].trigger], 1);
}

__global__ void packHits(const Hit* hits, int n, const int* offsets, int* cursor, float* packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int t = hits[i].trigger;
  packed[offsets[t] + atomicAdd(&cursor[t], 1)] = hits[i].charge;
}

// From the common library.
class DefaultStreamScan {
 public:
  explicit DefaultStreamScan(int capacity) : capacity_(capacity) {
    int* none = nullptr;
    attempt(cub::DeviceScan::ExclusiveSum(nullptr, bytes_, none, none, capacity), "scan size");
    attempt(cudaMalloc(&storage_, bytes_), "scan storage");
  }
  ~DefaultStreamScan() { cudaFree(storage_); }
  DefaultStreamScan(const DefaultStreamScan&) = delete;
  DefaultStreamScan& operator=(const DefaultStreamScan&) = delete;

  void operator()(const int* in, int* out) {
    attempt(cub::DeviceScan::ExclusiveSum(storage_, bytes_, in, out, capacity_), "scan");
  }

 private:
  int capacity_;
  std::size_t bytes_ = 0;
  void* storage_ = nullptr;
};

class EventBuilder {
 public:
  explicit EventBuilder(int triggers) : triggers_(triggers), scan_(triggers) {
    attempt(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    attempt(cudaEventCreateWithFlags(&edge_, cudaEventDisableTiming), "event");
    attempt(cudaMalloc(&counts_, sizeof(int) * triggers), "counts");
    attempt(cudaMalloc(&offsets_, sizeof(int) * triggers), "offsets");
  }
  ~EventBuilder() {
    cudaStreamSynchronize(stream_);
    cudaFree(offsets_);
    cudaFree(counts_);
    cudaEventDestroy(edge_);
    cudaStreamDestroy(stream_);
  }
  EventBuilder(const EventBuilder&) = delete;
  EventBuilder& operator=(const EventBuilder&) = delete;

  cudaStream_t stream() const { return stream_; }

  // hits are complete in stream(); so is packed afterwards.
  void build(const Hit* hits, int n, float* packed) {
    const int blocks = (n + 255) / 256;
    clearCounts();
    countHits<<<blocks, 256, 0, stream_>>>(hits, n, counts_);
    attempt(cudaGetLastError(), "countHits");

    follow(cudaStreamLegacy, stream_);
    scan_(counts_, offsets_);
    follow(stream_, cudaStreamLegacy);

    clearCounts();
    packHits<<<blocks, 256, 0, stream_>>>(hits, n, offsets_, counts_, packed);
    attempt(cudaGetLastError(), "packHits");
  }

 private:
  void clearCounts() { attempt(cudaMemsetAsync(counts_, 0, sizeof(int) * triggers_, stream_), "clear"); }

  // Later work in `after` starts when the present work in `before` is done.
  void follow(cudaStream_t after, cudaStream_t before) {
    attempt(cudaEventRecord(edge_, before), "record");
    attempt(cudaStreamWaitEvent(after, edge_, 0), "wait");
  }

  int triggers_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t edge_ = nullptr;
  int* counts_ = nullptr;
  int* offsets_ = nullptr;
  DefaultStreamScan scan_;
};

}  // namespace readout

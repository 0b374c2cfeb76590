#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <stdexcept>
#include <vector>

namespace scan {

struct MinMax {
  float lo;
  float hi;
};

enum class Mode { Eager, Deferred };

inline void chk(cudaError_t e, const char* w) {
  if (e != cudaSuccess) throw std::runtime_error(w);
}

__global__ void chunk_stats(const float* values, int rows, MinMax* out) {
  MinMax m{FLT_MAX, -FLT_MAX};
  const float* v = values + static_cast<size_t>(blockIdx.x) * rows;
  for (int i = 0; i < rows; ++i) {
    m.lo = fminf(m.lo, v[i]);
    m.hi = fmaxf(m.hi, v[i]);
  }
  out[blockIdx.x] = m;
}

class ChunkFilter {
 public:
  ChunkFilter(int chunks, int rows, Mode mode) : chunks_(chunks), rows_(rows), mode_(mode) {
    chk(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    chk(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "event");
    chk(cudaMalloc(&dev_, chunks * sizeof(MinMax)), "dev");
    chk(cudaMallocHost(&host_, chunks * sizeof(MinMax)), "host");
  }
  ~ChunkFilter() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(copied_);
    cudaFree(dev_);
    cudaFreeHost(host_);
    cudaStreamDestroy(stream_);
  }
  ChunkFilter(const ChunkFilter&) = delete;

  // Statistics of all chunks; in Deferred mode the host does not wait here.
  void collect(const float* values) {
    chunk_stats<<<chunks_, 1, 0, stream_>>>(values, rows_, dev_);
    chk(cudaGetLastError(), "chunk_stats");
    chk(cudaMemcpyAsync(host_, dev_, chunks_ * sizeof(MinMax), cudaMemcpyDeviceToHost, stream_),
        "stats");
    chk(cudaEventRecord(copied_, stream_), "record");
    if (mode_ == Mode::Eager) chk(cudaEventSynchronize(copied_), "sync");
  }

  // Chunks that can hold a value in [lo, hi].
  std::vector<int> prune(float lo, float hi) const {
    std::vector<int> keep;
    if (mode_ == Mode::Deferred) chk(cudaEventSynchronize(copied_), "sync");
    for (int c = 0; c < chunks_; ++c)
      if (host_[c].lo <= hi && host_[c].hi >= lo) keep.push_back(c);
    return keep;
  }

 private:
  int chunks_;
  int rows_;
  Mode mode_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t copied_ = nullptr;
  MinMax* dev_ = nullptr;
  MinMax* host_ = nullptr;
};

// `values` is complete on the device.
std::vector<int> select_chunks(const float* values, int chunks, int rows, float lo, float hi) {
  ChunkFilter filter(chunks, rows, chunks > 64 ? Mode::Deferred : Mode::Eager);
  filter.collect(values);
  return filter.prune(lo, hi);
}

}  // namespace scan

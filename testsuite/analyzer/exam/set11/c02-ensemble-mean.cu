// Ensemble statistics: every member is reduced on its own stream, the spread
// is computed on the main stream after all of them.
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace ensemble {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <typename T>
class StreamArray {
 public:
  StreamArray(std::size_t n, cudaStream_t stream) : stream_(stream) {
    check(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), stream), "alloc");
  }
  ~StreamArray() { cudaFreeAsync(p_, stream_); }
  StreamArray(const StreamArray&) = delete;
  StreamArray& operator=(const StreamArray&) = delete;
  T* get() const noexcept { return p_; }

 private:
  T* p_ = nullptr;
  cudaStream_t stream_;
};

class Lane {
 public:
  Lane() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "event");
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  void follow(cudaEvent_t start) const { check(cudaStreamWaitEvent(stream_, start, 0), "fork"); }
  void join(cudaStream_t main) const {
    check(cudaEventRecord(done_, stream_), "record");
    check(cudaStreamWaitEvent(main, done_, 0), "join");
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

__global__ void spread(const float* sums, int members, int cells, float* out) {
  float mean = 0.f, square = 0.f;
  for (int m = 0; m < members; ++m) {
    const float v = sums[m] / cells;
    mean += v / members;
    square += v * v / members;
  }
  *out = square - mean * mean;
}

class Statistics {
 public:
  explicit Statistics(int members) : lanes_(members) {
    check(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking), "stream");
    check(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming), "event");
  }
  ~Statistics() {
    cudaStreamSynchronize(main_);
    cudaEventDestroy(start_);
    cudaStreamDestroy(main_);
  }
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  /// Variance of the member means; `fields` holds members x cells values.
  float variance(const float* host_fields, int cells) {
    const int members = static_cast<int>(lanes_.size());
    const std::size_t total = static_cast<std::size_t>(members) * cells;
    StreamArray<float> fields(total, main_);
    StreamArray<float> sums(members, main_);
    StreamArray<float> result(1, main_);
    check(cudaMemcpyAsync(fields.get(), host_fields, total * sizeof(float), cudaMemcpyHostToDevice, main_), "upload");
    check(cudaEventRecord(start_, main_), "record");

    for (int m = 0; m < members; ++m) {
      lanes_[m].follow(start_);
      reduce(fields.get() + static_cast<std::size_t>(m) * cells, sums.get() + m, cells, lanes_[m].stream());
    }
    for (const Lane& lane : lanes_) lane.join(main_);

    spread<<<1, 1, 0, main_>>>(sums.get(), members, cells, result.get());
    check(cudaGetLastError(), "spread");
    float value = 0.f;
    check(cudaMemcpyAsync(&value, result.get(), sizeof(float), cudaMemcpyDeviceToHost, main_), "download");
    check(cudaStreamSynchronize(main_), "sync");
    return value;
  }

 private:
  static void reduce(const float* field, float* sum, int cells, cudaStream_t stream) {
    std::size_t bytes = 0;
    check(cub::DeviceReduce::Sum(nullptr, bytes, field, sum, cells, stream), "size");
    StreamArray<unsigned char> scratch(bytes, stream);
    check(cub::DeviceReduce::Sum(scratch.get(), bytes, field, sum, cells, stream), "sum");
  }

  std::vector<Lane> lanes_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t start_ = nullptr;
};

}  // namespace ensemble

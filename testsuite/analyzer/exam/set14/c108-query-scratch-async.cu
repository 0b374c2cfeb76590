// Query operators of an in-memory database: scratch comes from the
// stream-ordered allocator, results are consumed by a second stream.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <utility>

#define DB_CHECK(x)                                                                   \
  do {                                                                                \
    cudaError_t db_e = (x);                                                           \
    if (db_e != cudaSuccess) throw std::runtime_error(std::string("db: ") + cudaGetErrorString(db_e)); \
  } while (0)

namespace query {

class Event {
 public:
  Event() { DB_CHECK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void order(cudaStream_t before, cudaStream_t after) {
    DB_CHECK(cudaEventRecord(e_, before));
    DB_CHECK(cudaStreamWaitEvent(after, e_, 0));
  }

 private:
  cudaEvent_t e_ = nullptr;
};

// Device array whose life is ordered in the stream that allocated it.
template <typename T>
class Scratch {
 public:
  Scratch(size_t n, cudaStream_t s) : stream_(s) {
    DB_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), s));
  }
  ~Scratch() {
    if (p_) cudaFreeAsync(p_, stream_);
  }
  Scratch(Scratch&& o) noexcept : p_(std::exchange(o.p_, nullptr)), stream_(o.stream_) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return p_; }
  cudaStream_t stream() const { return stream_; }

 private:
  T* p_ = nullptr;
  cudaStream_t stream_;
};

__global__ void select(const int* column, unsigned char* mask, int n, int low, int high) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mask[i] = column[i] >= low && column[i] < high;
}

__global__ void aggregate(const int* values, const unsigned char* mask, unsigned long long* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && mask[i]) atomicAdd(sum, static_cast<unsigned long long>(values[i]));
}

Scratch<unsigned char> filter(const int* column, int n, int low, int high, cudaStream_t scan) {
  Scratch<unsigned char> mask(n, scan);
  select<<<(n + 255) / 256, 256, 0, scan>>>(column, mask.get(), n, low, high);
  DB_CHECK(cudaGetLastError());
  return mask;
}

class Executor {
 public:
  Executor() {
    DB_CHECK(cudaStreamCreateWithFlags(&scan_, cudaStreamNonBlocking));
    DB_CHECK(cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking));
    DB_CHECK(cudaMalloc(reinterpret_cast<void**>(&sum_), sizeof(*sum_)));
  }
  ~Executor() {
    cudaStreamSynchronize(scan_);
    cudaStreamSynchronize(reduce_);
    cudaFree(sum_);
    cudaStreamDestroy(scan_);
    cudaStreamDestroy(reduce_);
  }

  // Both columns are complete on the device.
  unsigned long long sumWhere(const int* key, const int* value, int n, int low, int high) {
    DB_CHECK(cudaMemsetAsync(sum_, 0, sizeof(*sum_), reduce_));
    {
      auto mask = filter(key, n, low, high, scan_);
      filtered_.order(scan_, reduce_);
      aggregate<<<(n + 255) / 256, 256, 0, reduce_>>>(value, mask.get(), sum_, n);
      DB_CHECK(cudaGetLastError());
      consumed_.order(reduce_, scan_);
    }
    unsigned long long result = 0;
    DB_CHECK(cudaMemcpyAsync(&result, sum_, sizeof(result), cudaMemcpyDeviceToHost, reduce_));
    DB_CHECK(cudaStreamSynchronize(reduce_));
    return result;
  }

 private:
  cudaStream_t scan_ = nullptr;
  cudaStream_t reduce_ = nullptr;
  unsigned long long* sum_ = nullptr;
  Event filtered_;
  Event consumed_;
};

}  // namespace query

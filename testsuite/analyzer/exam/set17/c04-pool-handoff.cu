// Work items whose memory is taken on one stream, used on others and given back on the first.
// One event serves all hand-overs: a wait keeps the state that the event had when the wait
// was queued, so that recording it again later does not disturb it.
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace jobs {

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
#define JOBS_DO(x) do { if (cudaError_t rc = (x); rc != cudaSuccess) throw Failure(cudaGetErrorString(rc)); } while (0)

__global__ void seed(unsigned* keys, int n, unsigned salt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = (i + salt) * 2654435761u;
}

__global__ void countBuckets(const unsigned* keys, int n, int* buckets) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(buckets + (keys[i] >> 28), 1);
}

__global__ void addInto(int* total, const int* part) {
  if (threadIdx.x < 16) atomicAdd(total + threadIdx.x, part[threadIdx.x]);
}

class Order {
 public:
  Order() { JOBS_DO(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Order() { cudaEventDestroy(event_); }
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // What is queued on `later` from now on runs after what is queued on `earlier` so far.
  void between(cudaStream_t earlier, cudaStream_t later) {
    JOBS_DO(cudaEventRecord(event_, earlier));
    JOBS_DO(cudaStreamWaitEvent(later, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

template <typename T>
class PoolArray {
 public:
  PoolArray(std::size_t n, cudaStream_t owner) : owner_(owner) {
    JOBS_DO(cudaMallocAsync(reinterpret_cast<void**>(&data_), n * sizeof(T), owner_));
  }
  PoolArray(PoolArray&& o) noexcept : owner_(o.owner_), data_(std::exchange(o.data_, nullptr)) {}
  PoolArray(const PoolArray&) = delete;
  PoolArray& operator=(const PoolArray&) = delete;
  ~PoolArray() {
    if (data_) cudaFreeAsync(data_, owner_);
  }
  T* get() const { return data_; }

 private:
  cudaStream_t owner_;
  T* data_ = nullptr;
};

class Counter {
 public:
  explicit Counter(int helpers) : helpers_(helpers) {
    JOBS_DO(cudaStreamCreateWithFlags(&home_, cudaStreamNonBlocking));
    for (cudaStream_t& s : helpers_) JOBS_DO(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~Counter() {
    for (cudaStream_t s : helpers_) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
    cudaStreamSynchronize(home_);
    cudaStreamDestroy(home_);
  }

  std::vector<int> count(int items, int n) {
    PoolArray<int> total(16, home_);
    JOBS_DO(cudaMemsetAsync(total.get(), 0, 16 * sizeof(int), home_));
    std::deque<Item> inFlight;
    for (int i = 0; i < items; ++i) {
      if (inFlight.size() == helpers_.size()) retire(inFlight);
      inFlight.push_back(launch(helpers_[i % helpers_.size()], n, i, total.get()));
    }
    while (!inFlight.empty()) retire(inFlight);
    std::vector<int> host(16);
    JOBS_DO(cudaMemcpyAsync(host.data(), total.get(), 16 * sizeof(int), cudaMemcpyDeviceToHost, home_));
    JOBS_DO(cudaStreamSynchronize(home_));
    return host;
  }

 private:
  struct Item {
    cudaStream_t helper;
    PoolArray<unsigned> keys;
    PoolArray<int> part;
  };

  Item launch(cudaStream_t helper, int n, unsigned salt, int* total) {
    Item item{helper, PoolArray<unsigned>(n, home_), PoolArray<int>(16, home_)};
    JOBS_DO(cudaMemsetAsync(item.part.get(), 0, 16 * sizeof(int), home_));
    order_.between(home_, helper);
    seed<<<(n + 255) / 256, 256, 0, helper>>>(item.keys.get(), n, salt);
    JOBS_DO(cudaGetLastError());
    countBuckets<<<(n + 255) / 256, 256, 0, helper>>>(item.keys.get(), n, item.part.get());
    JOBS_DO(cudaGetLastError());
    addInto<<<1, 32, 0, helper>>>(total, item.part.get());
    JOBS_DO(cudaGetLastError());
    return item;
  }

  // The memory goes back behind everything that the helper has done with it.
  void retire(std::deque<Item>& items) {
    order_.between(items.front().helper, home_);
    items.pop_front();
  }

  cudaStream_t home_ = nullptr;
  std::vector<cudaStream_t> helpers_;
  Order order_;
};

std::vector<int> histogramOfKeys() {
  Counter counter(3);
  return counter.count(24, 1 << 18);
}

}  // namespace jobs

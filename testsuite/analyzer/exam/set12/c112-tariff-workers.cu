// Smart-meter billing: worker threads aggregate load profiles on their per-thread default streams and share
// one cache of device blocks.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define ASSERT_CUDA(call)                                                              \
  do {                                                                                 \
    cudaError_t status = (call);                                                       \
    if (status != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::abort();                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kMeters = 4096;
constexpr int kSlots = 96;

__global__ void apply_tariff(const float* load, const float* price, float* cost) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kMeters * kSlots) cost[i] = load[i] * price[i % kSlots];
}

__global__ void bill(const float* cost, float* totals) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= kMeters) return;
  float sum = 0.f;
  for (int s = 0; s < kSlots; ++s) sum += cost[m * kSlots + s];
  totals[m] = sum;
}

struct Block {
  void* ptr = nullptr;
  std::size_t bytes = 0;
  cudaEvent_t last_use = nullptr;
};

// A block remembers the end of its last use; the next user's stream waits for it.
class BlockCache {
 public:
  BlockCache() = default;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache() {
    for (Block& b : free_) {
      ASSERT_CUDA(cudaEventSynchronize(b.last_use));
      ASSERT_CUDA(cudaEventDestroy(b.last_use));
      ASSERT_CUDA(cudaFree(b.ptr));
    }
  }

  Block acquire(std::size_t bytes, cudaStream_t stream) {
    Block found;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < free_.size(); ++i) {
        if (free_[i].bytes < bytes) continue;
        found = free_[i];
        free_[i] = free_.back();
        free_.pop_back();
        break;
      }
    }
    if (found.ptr) {
      ASSERT_CUDA(cudaStreamWaitEvent(stream, found.last_use, 0));
      return found;
    }
    ASSERT_CUDA(cudaMalloc(&found.ptr, bytes));
    ASSERT_CUDA(cudaEventCreateWithFlags(&found.last_use, cudaEventDisableTiming));
    found.bytes = bytes;
    return found;
  }

  void release(Block block, cudaStream_t stream) {
    ASSERT_CUDA(cudaEventRecord(block.last_use, stream));
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(block);
  }

 private:
  std::mutex mutex_;
  std::vector<Block> free_;
};

class Lease {
 public:
  Lease(BlockCache& cache, std::size_t floats, cudaStream_t stream)
      : cache_(cache), stream_(stream), block_(cache.acquire(floats * sizeof(float), stream)) {}
  ~Lease() { cache_.release(block_, stream_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  float* get() const { return static_cast<float*>(block_.ptr); }

 private:
  BlockCache& cache_;
  cudaStream_t stream_;
  Block block_;
};

void bill_day(BlockCache& cache, const float* pinned_load, const float* device_price, float* pinned_totals) {
  cudaStream_t stream = cudaStreamPerThread;
  Lease load(cache, std::size_t(kMeters) * kSlots, stream);
  Lease cost(cache, std::size_t(kMeters) * kSlots, stream);
  Lease totals(cache, kMeters, stream);
  ASSERT_CUDA(cudaMemcpyAsync(load.get(), pinned_load, sizeof(float) * kMeters * kSlots, cudaMemcpyHostToDevice, stream));
  apply_tariff<<<kMeters * kSlots / 256, 256, 0, stream>>>(load.get(), device_price, cost.get());
  bill<<<kMeters / 128, 128, 0, stream>>>(cost.get(), totals.get());
  ASSERT_CUDA(cudaMemcpyAsync(pinned_totals, totals.get(), sizeof(float) * kMeters, cudaMemcpyDeviceToHost, stream));
}

void worker(BlockCache& cache, const float* pinned_load, const float* device_price, int days, double& revenue) {
  float* totals = nullptr;
  ASSERT_CUDA(cudaMallocHost(&totals, sizeof(float) * kMeters * days));
  for (int d = 0; d < days; ++d) bill_day(cache, pinned_load, device_price, totals + d * kMeters);
  ASSERT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  for (int i = 0; i < kMeters * days; ++i) revenue += totals[i];
  ASSERT_CUDA(cudaFreeHost(totals));
}

int main() {
  constexpr int kWorkers = 3;
  float* load = nullptr;
  float* price = nullptr;
  ASSERT_CUDA(cudaMallocHost(&load, sizeof(float) * kMeters * kSlots));
  for (int i = 0; i < kMeters * kSlots; ++i) load[i] = 0.2f + (i % 13) * 0.05f;
  std::vector<float> tariff(kSlots, 0.30f);
  for (int s = 28; s < 40; ++s) tariff[s] = 0.42f;
  ASSERT_CUDA(cudaMalloc(&price, sizeof(float) * kSlots));
  ASSERT_CUDA(cudaMemcpy(price, tariff.data(), sizeof(float) * kSlots, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaDeviceSynchronize());

  std::vector<double> revenue(kWorkers, 0.0);
  {
    BlockCache cache;
    std::vector<std::thread> threads;
    for (int w = 0; w < kWorkers; ++w)
      threads.emplace_back(worker, std::ref(cache), load, price, 30, std::ref(revenue[w]));
    for (auto& t : threads) t.join();
  }
  for (double r : revenue) std::printf("%.2f\n", r);
  ASSERT_CUDA(cudaFree(price));
  ASSERT_CUDA(cudaFreeHost(load));
  return 0;
}

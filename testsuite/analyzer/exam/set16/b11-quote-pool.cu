// Uploads option quotes to the pricing device.  Host staging comes from a fixed slab of page-locked
// blocks; bursts that do not fit take a page-locked block of their own.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pricing {

struct CudaFailure : std::runtime_error {
  explicit CudaFailure(cudaError_t rc) : std::runtime_error(cudaGetErrorString(rc)) {}
};

inline void cu(cudaError_t rc) {
  if (rc != cudaSuccess) throw CudaFailure(rc);
}

struct Quote {
  int64_t instrument;
  double strike, expiry, bid, ask;
};

class StagingPool {
 public:
  static constexpr size_t kBlockBytes = 64 * 1024;

  explicit StagingPool(size_t blocks) {
    cu(cudaMallocHost(&slab_, blocks * kBlockBytes));
    for (size_t i = 0; i < blocks; ++i) free_.push_back(static_cast<char*>(slab_) + i * kBlockBytes);
  }

  ~StagingPool() {
    for (auto& p : pending_) {
      cudaEventSynchronize(p.done);
      cudaEventDestroy(p.done);
    }
    cudaFreeHost(slab_);
  }

  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  // A block that goes back to its pool at the end of the scope, in stream order.
  class Block {
   public:
    Block(StagingPool& pool, size_t bytes, cudaStream_t stream) : pool_(pool), stream_(stream) {
      p_ = pool_.take(bytes);
      if (!p_) {
        cu(cudaMallocHost(&p_, bytes));
        own_ = true;
      }
    }
    ~Block() {
      if (own_) {
        cudaFreeHost(p_);
      } else {
        pool_.putBack(p_, stream_);
      }
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    void* data() const { return p_; }

   private:
    StagingPool& pool_;
    cudaStream_t stream_;
    void* p_ = nullptr;
    bool own_ = false;
  };

 private:
  struct Pending {
    void* p;
    cudaEvent_t done;
  };

  void* take(size_t bytes) {
    if (bytes > kBlockBytes) return nullptr;
    std::lock_guard<std::mutex> lock(m_);
    reclaim();
    if (free_.empty()) return nullptr;
    void* p = free_.back();
    free_.pop_back();
    return p;
  }

  void putBack(void* p, cudaStream_t stream) {
    cudaEvent_t done;
    cu(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    cu(cudaEventRecord(done, stream));
    std::lock_guard<std::mutex> lock(m_);
    pending_.push_back({p, done});
  }

  void reclaim() {
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (cudaEventQuery(it->done) == cudaSuccess) {
        cudaEventDestroy(it->done);
        free_.push_back(it->p);
        it = pending_.erase(it);
      } else {
        ++it;
      }
    }
  }

  void* slab_ = nullptr;
  std::mutex m_;
  std::vector<void*> free_;
  std::list<Pending> pending_;
};

__global__ void midPrice(const Quote* quotes, double* mid, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mid[i] = 0.5 * (quotes[i].bid + quotes[i].ask);
}

class QuoteFeed {
 public:
  QuoteFeed(StagingPool& pool, size_t maxQuotes) : pool_(pool) {
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cu(cudaMalloc(&quotes_, maxQuotes * sizeof(Quote)));
    cu(cudaMalloc(&mid_, maxQuotes * sizeof(double)));
  }
  ~QuoteFeed() {
    cudaStreamSynchronize(stream_);
    cudaFree(quotes_);
    cudaFree(mid_);
    cudaStreamDestroy(stream_);
  }
  QuoteFeed(const QuoteFeed&) = delete;
  QuoteFeed& operator=(const QuoteFeed&) = delete;

  // Returns as soon as the update is queued.
  void update(const std::vector<Quote>& burst) {
    const size_t bytes = burst.size() * sizeof(Quote);
    StagingPool::Block staging(pool_, bytes, stream_);
    std::memcpy(staging.data(), burst.data(), bytes);
    cu(cudaMemcpyAsync(quotes_, staging.data(), bytes, cudaMemcpyHostToDevice, stream_));
    const int n = static_cast<int>(burst.size());
    midPrice<<<(n + 127) / 128, 128, 0, stream_>>>(quotes_, mid_, n);
    cu(cudaGetLastError());
  }

  const double* mid() const { return mid_; }
  cudaStream_t stream() const { return stream_; }

 private:
  StagingPool& pool_;
  cudaStream_t stream_{};
  Quote* quotes_ = nullptr;
  double* mid_ = nullptr;
};

}  // namespace pricing

// A pinned-memory pool whose blocks become available again when the event that
// was recorded at release time has completed.
#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace pinned {

inline void must(cudaError_t e) {
  if (e != cudaSuccess) throw std::bad_alloc();
}

struct Block {
  void* ptr = nullptr;
  size_t bytes = 0;
  cudaEvent_t idle = nullptr;
};

class Pool {
 public:
  ~Pool() {
    for (Block& b : parked_) {
      cudaEventSynchronize(b.idle);
      cudaEventDestroy(b.idle);
      cudaFreeHost(b.ptr);
    }
  }

  Block acquire(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = parked_.begin(); it != parked_.end(); ++it) {
      if (it->bytes < bytes) continue;
      cudaError_t q = cudaEventQuery(it->idle);
      if (q == cudaErrorNotReady) continue;
      must(q);
      Block b = *it;
      parked_.erase(it);
      return b;
    }
    Block b;
    b.bytes = bytes;
    must(cudaMallocHost(&b.ptr, bytes));
    must(cudaEventCreateWithFlags(&b.idle, cudaEventDisableTiming));
    return b;
  }

  // All uses of the block have been enqueued on `last_use`.
  void release(Block b, cudaStream_t last_use) {
    must(cudaEventRecord(b.idle, last_use));
    std::lock_guard<std::mutex> lock(mutex_);
    parked_.push_back(b);
  }

 private:
  std::mutex mutex_;
  std::deque<Block> parked_;
};

class Lease {
 public:
  Lease(Pool& pool, size_t bytes, cudaStream_t stream)
      : pool_(pool), block_(pool.acquire(bytes)), stream_(stream) {}
  ~Lease() { pool_.release(block_, stream_); }
  Lease(const Lease&) = delete;
  template <typename T>
  T* as() const { return static_cast<T*>(block_.ptr); }

 private:
  Pool& pool_;
  Block block_;
  cudaStream_t stream_;
};

struct Query {
  int key;
  int limit;
};

__global__ void lookup(const Query* q, int n, const int* table, int size, int* hits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int count = 0;
  for (int k = 0; k < size && count < q[i].limit; ++k) count += table[k] == q[i].key;
  hits[i] = count;
}

// Enqueues a batch of look-ups; nothing is left on the host when it returns.
void enqueue_lookup(Pool& pool, const std::vector<Query>& queries, Query* dev_q, const int* table,
                    int size, int* hits, cudaStream_t stream) {
  if (queries.empty()) return;
  const size_t bytes = queries.size() * sizeof(Query);
  Lease lease(pool, bytes, stream);
  Query* staging = lease.as<Query>();
  for (size_t i = 0; i < queries.size(); ++i) staging[i] = queries[i];
  must(cudaMemcpyAsync(dev_q, staging, bytes, cudaMemcpyHostToDevice, stream));
  int n = static_cast<int>(queries.size());
  lookup<<<(n + 127) / 128, 128, 0, stream>>>(dev_q, n, table, size, hits);
  must(cudaGetLastError());
}

}  // namespace pinned

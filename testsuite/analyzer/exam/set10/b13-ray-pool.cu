// Neutron transport: neutron banks are allocated from a stream-aware block pool.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>

#define CUDA_ASSERT(x)                                                        \
  do {                                                                        \
    cudaError_t rc_ = (x);                                                    \
    if (rc_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc_));    \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

class BlockPool {
 public:
  explicit BlockPool(size_t block_bytes) : bytes_(block_bytes) {}
  ~BlockPool() {
    cudaDeviceSynchronize();
    for (auto& [stream, lane] : lanes_) {
      for (void* p : lane.blocks) cudaFree(p);
      cudaEventDestroy(lane.released);
    }
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Adds fresh blocks for a stream. Only called while the pool is being set up.
  void reserve(int blocks, cudaStream_t stream) {
    Lane& lane = lane_of(stream);
    for (int i = 0; i < blocks; ++i) {
      void* p = nullptr;
      CUDA_ASSERT(cudaMalloc(&p, bytes_));
      lane.blocks.push_back(p);
    }
  }

  // The block may be used by work queued on stream after this call.
  void* allocate(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Lane& mine = lane_of(stream);
    if (mine.blocks.empty()) {
      for (auto& [other, lane] : lanes_) {
        if (other == stream || lane.blocks.empty()) continue;
        steal_from(lane, mine, stream);
        break;
      }
    }
    if (mine.blocks.empty()) return nullptr;
    void* p = mine.blocks.front();
    mine.blocks.pop_front();
    return p;
  }

  // All uses of the block must have been queued on stream.
  void release(void* p, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Lane& mine = lane_of(stream);
    mine.blocks.push_back(p);
    CUDA_ASSERT(cudaEventRecord(mine.released, stream));
  }

 private:
  struct Lane {
    std::list<void*> blocks;
    cudaEvent_t released = nullptr;
  };

  Lane& lane_of(cudaStream_t stream) {
    Lane& lane = lanes_[stream];
    if (!lane.released) CUDA_ASSERT(cudaEventCreateWithFlags(&lane.released, cudaEventDisableTiming));
    return lane;
  }

  static void steal_from(Lane& victim, Lane& mine, cudaStream_t stream) {
    CUDA_ASSERT(cudaStreamWaitEvent(stream, victim.released, 0));
    mine.blocks.splice(mine.blocks.end(), victim.blocks);
  }

  size_t bytes_;
  std::mutex mutex_;
  std::map<cudaStream_t, Lane> lanes_;
};

constexpr int kBank = 1 << 20;

__global__ void scatter(float* bank, float seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float e = seed + i;
  for (int k = 0; k < 2000; ++k) e = e * 0.9997f + 0.01f;
  bank[i] = e;
}

__global__ void tally(float* bank, float* total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bank[i] = 1.f / (1.f + i);
  atomicAdd(total, bank[i]);
}

class Generation {
 public:
  Generation(BlockPool& pool, cudaStream_t s) : pool_(pool), stream_(s), bank_(static_cast<float*>(pool.allocate(s))) {
    if (!bank_) std::abort();
  }
  ~Generation() { pool_.release(bank_, stream_); }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  void scatter_all(float seed) { scatter<<<kBank / 256, 256, 0, stream_>>>(bank_, seed); }
  void tally_all(float* total) { tally<<<kBank / 256, 256, 0, stream_>>>(bank_, total); }

 private:
  BlockPool& pool_;
  cudaStream_t stream_;
  float* bank_;
};

int main() {
  cudaStream_t a, b, c;
  for (cudaStream_t* s : {&a, &b, &c}) CUDA_ASSERT(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  float* total = nullptr;
  CUDA_ASSERT(cudaMalloc(&total, sizeof(float)));
  CUDA_ASSERT(cudaMemset(total, 0, sizeof(float)));
  CUDA_ASSERT(cudaDeviceSynchronize());
  {
    BlockPool pool(kBank * sizeof(float));
    pool.reserve(2, a);
    {
      Generation first(pool, a), second(pool, a);
      first.scatter_all(1.f);
      second.scatter_all(2.f);
    }
    Generation on_b(pool, b);
    Generation on_c(pool, c);
    on_c.tally_all(total);
    CUDA_ASSERT(cudaGetLastError());
    CUDA_ASSERT(cudaStreamSynchronize(c));
  }
  float host = 0;
  CUDA_ASSERT(cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("tally %f\n", host);
  cudaFree(total);
  for (cudaStream_t s : {a, b, c}) cudaStreamDestroy(s);
  return 0;
}

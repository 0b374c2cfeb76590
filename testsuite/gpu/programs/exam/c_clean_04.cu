// Caching allocator with an event per block: a block changes streams only behind (or after) its event.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

class BlockCache {
 public:
  struct Block {
    float* ptr{};
    cudaEvent_t freed{};
    cudaStream_t last{};
  };
  BlockCache(size_t bytes, int blocks) : bytes_(bytes) {
    CK(cudaMalloc(&slab_, bytes * blocks));
    for (int i = 0; i < blocks; ++i) {
      auto b = std::make_unique<Block>();
      b->ptr = reinterpret_cast<float*>(slab_ + i * bytes);
      CK(cudaEventCreateWithFlags(&b->freed, cudaEventDisableTiming));
      free_.push_back(b.get());
      all_.push_back(std::move(b));
    }
  }
  ~BlockCache() {
    for (auto& b : all_) {
      CK(cudaEventSynchronize(b->freed));
      cudaEventDestroy(b->freed);
    }
    cudaFree(slab_);
  }
  Block* acquire(cudaStream_t s) {
    std::lock_guard<std::mutex> lk(m_);
    for (auto it = free_.begin(); it != free_.end(); ++it)  // own blocks first, then idle ones
      if ((*it)->last == s || cudaEventQuery((*it)->freed) == cudaSuccess) return take(it, s);
    Block* b = take(free_.begin(), s);
    CK(cudaStreamWaitEvent(s, b->freed, 0));
    return b;
  }
  void release(Block* b, cudaStream_t s) {
    std::lock_guard<std::mutex> lk(m_);
    CK(cudaEventRecord(b->freed, s));
    b->last = s;
    free_.push_back(b);
  }

 private:
  Block* take(std::list<Block*>::iterator it, cudaStream_t) {
    Block* b = *it;
    free_.erase(it);
    return b;
  }
  size_t bytes_;
  char* slab_{};
  std::mutex m_;
  std::list<Block*> free_;
  std::vector<std::unique_ptr<Block>> all_;
};

__global__ void work_in(float* tmp, int n, float seed, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = seed + i;
  for (int r = 0; r < rounds; ++r) v = fmaf(v, 0.9999f, 0.1f);
  tmp[i] = v;
}
__global__ void sum_out(const float* tmp, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += tmp[i];
}

int main() {
  constexpr int n = 1 << 14, kStreams = 4;
  cudaStream_t s[kStreams];
  float* out[kStreams];
  for (int i = 0; i < kStreams; ++i) {
    CK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    CK(cudaMalloc(&out[i], n * sizeof(float)));
    CK(cudaMemsetAsync(out[i], 0, n * sizeof(float), s[i]));
  }
  {
    BlockCache cache(n * sizeof(float), 3);
    for (int round = 0; round < 12; ++round) {
      int i = (round * 3) % kStreams;
      auto* b = cache.acquire(s[i]);
      work_in<<<n / 128, 128, 0, s[i]>>>(b->ptr, n, float(round), 60000);
      sum_out<<<n / 128, 128, 0, s[i]>>>(b->ptr, out[i], n);
      CK(cudaGetLastError());
      cache.release(b, s[i]);
    }
  }
  for (int i = 0; i < kStreams; ++i) {
    float h;
    CK(cudaStreamSynchronize(s[i]));
    CK(cudaMemcpy(&h, out[i], sizeof h, cudaMemcpyDeviceToHost));
    std::printf("stream %d: %f\n", i, h);
    CK(cudaFree(out[i]));
    CK(cudaStreamDestroy(s[i]));
  }
  return 0;
}

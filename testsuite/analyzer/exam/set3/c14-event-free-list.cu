// Device memory resource with per-stream reuse: a freed block remembers the point on its stream after which it is idle.
#include <cuda_runtime.h>

#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#define MR_EXPECTS(call) if ((call) != cudaSuccess) throw std::bad_alloc{}

namespace mr {

class block_pool {
  struct block {
    void* ptr;
    std::size_t bytes;
    cudaStream_t owner;
    cudaEvent_t idle;
  };

 public:
  block_pool() = default;
  block_pool(block_pool const&) = delete;
  ~block_pool()
  {
    for (auto& b : free_) {
      cudaEventSynchronize(b.idle);
      cudaEventDestroy(b.idle);
      cudaFree(b.ptr);
    }
  }

  void* allocate(std::size_t bytes, cudaStream_t stream)
  {
    std::lock_guard lock{mtx_};
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->bytes < bytes) continue;
      if (it->owner != stream) MR_EXPECTS(cudaStreamWaitEvent(stream, it->idle, 0));
      it->owner = stream;
      void* p = it->ptr;
      live_.splice(live_.end(), free_, it);
      return p;
    }
    block b{nullptr, bytes, stream, nullptr};
    MR_EXPECTS(cudaEventCreateWithFlags(&b.idle, cudaEventDisableTiming));
    MR_EXPECTS(cudaMalloc(&b.ptr, bytes));
    live_.push_back(b);
    return b.ptr;
  }

  // All uses of p must be ordered before this point of `stream`.
  void deallocate(void* p, cudaStream_t stream) noexcept
  {
    std::lock_guard lock{mtx_};
    for (auto it = live_.begin(); it != live_.end(); ++it) {
      if (it->ptr != p) continue;
      cudaEventRecord(it->idle, stream);
      it->owner = stream;
      free_.splice(free_.end(), live_, it);
      return;
    }
  }

 private:
  std::mutex mtx_;
  std::list<block> free_, live_;
};

template <typename T>
struct scratch {
  scratch(block_pool& pool, std::size_t n, cudaStream_t s)
    : pool_(pool), stream_(s), ptr(static_cast<T*>(pool.allocate(n * sizeof(T), s))) {}
  ~scratch() { pool_.deallocate(ptr, stream_); }
  scratch(scratch const&) = delete;

 private:
  block_pool& pool_;
  cudaStream_t stream_;

 public:
  T* ptr;
};

}  // namespace mr

__global__ void square(float const* in, float* out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void block_sum(float const* in, float* out, int n)
{
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];
  atomicAdd(out, s);
}

static void sum_of_squares(mr::block_pool& pool, float const* in, float* out, int n, cudaStream_t stream)
{
  mr::scratch<float> tmp(pool, n, stream);
  square<<<(n + 255) / 256, 256, 0, stream>>>(in, tmp.ptr, n);
  MR_EXPECTS(cudaMemsetAsync(out, 0, sizeof(float), stream));
  block_sum<<<1, 256, 0, stream>>>(tmp.ptr, out, n);
}

std::vector<float> norms(std::vector<float const*> const& columns, int n)
{
  mr::block_pool pool;
  cudaStream_t streams[3];
  for (auto& s : streams) MR_EXPECTS(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float* results = nullptr;
  MR_EXPECTS(cudaMalloc(&results, columns.size() * sizeof(float)));
  for (std::size_t c = 0; c < columns.size(); ++c) sum_of_squares(pool, columns[c], results + c, n, streams[c % 3]);
  for (auto s : streams) MR_EXPECTS(cudaStreamSynchronize(s));
  std::vector<float> host(columns.size());
  MR_EXPECTS(cudaMemcpy(host.data(), results, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (auto s : streams) cudaStreamDestroy(s);
  cudaFree(results);
  return host;
}

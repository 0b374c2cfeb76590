/*
 * A small memory resource: blocks go back to a free list with an event of the stream that
 * used them last; whoever takes a block on another stream waits for that event.
 */
#include <cuda_runtime.h>

#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#define RMM_CUDA_TRY(x)                                                            \
  do {                                                                             \
    cudaError_t const e_ = (x);                                                    \
    if (e_ != cudaSuccess) { throw std::runtime_error(cudaGetErrorString(e_)); }   \
  } while (0)

namespace mr {

class device_memory_resource {
 public:
  virtual ~device_memory_resource()                                       = default;
  virtual void* allocate(std::size_t bytes, cudaStream_t stream)          = 0;
  virtual void deallocate(void* p, std::size_t bytes, cudaStream_t stream) = 0;
};

class event_pool_resource final : public device_memory_resource {
 public:
  ~event_pool_resource() override
  {
    for (auto& b : free_) {
      cudaEventSynchronize(b.last_use);
      cudaEventDestroy(b.last_use);
      cudaFree(b.ptr);
    }
  }

  void* allocate(std::size_t bytes, cudaStream_t stream) override
  {
    std::lock_guard<std::mutex> lock(mtx_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->bytes < bytes) { continue; }
      if (it->stream != stream) { RMM_CUDA_TRY(cudaStreamWaitEvent(stream, it->last_use, 0)); }
      void* p = it->ptr;
      used_.splice(used_.end(), free_, it);
      return p;
    }
    block b{};
    b.bytes = bytes;
    RMM_CUDA_TRY(cudaMalloc(&b.ptr, bytes));
    RMM_CUDA_TRY(cudaEventCreateWithFlags(&b.last_use, cudaEventDisableTiming));
    used_.push_back(b);
    return b.ptr;
  }

  void deallocate(void* p, std::size_t, cudaStream_t stream) override
  {
    std::lock_guard<std::mutex> lock(mtx_);
    for (auto it = used_.begin(); it != used_.end(); ++it) {
      if (it->ptr != p) { continue; }
      it->stream = stream;
      RMM_CUDA_TRY(cudaEventRecord(it->last_use, stream));
      free_.splice(free_.begin(), used_, it);
      return;
    }
    throw std::bad_alloc();
  }

 private:
  struct block {
    void* ptr;
    std::size_t bytes;
    cudaStream_t stream;
    cudaEvent_t last_use;
  };
  std::mutex mtx_;
  std::list<block> free_, used_;
};

class device_buffer {
 public:
  device_buffer(std::size_t bytes, cudaStream_t s, device_memory_resource& mr)
    : mr_(mr), bytes_(bytes), stream_(s), ptr_(mr.allocate(bytes, s)) {}
  ~device_buffer() { mr_.deallocate(ptr_, bytes_, stream_); }
  device_buffer(device_buffer const&) = delete;
  template <typename T> T* as() { return static_cast<T*>(ptr_); }

 private:
  device_memory_resource& mr_;
  std::size_t bytes_;
  cudaStream_t stream_;
  void* ptr_;
};

}  // namespace mr

__global__ void hash_rows(unsigned* scratch, int n, unsigned seed)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { scratch[i] = (i ^ seed) * 2654435761u; }
}

__global__ void count_even(unsigned const* scratch, int n, int* out)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (scratch[i] & 1u) == 0) { atomicAdd(out, 1); }
}

void run_query(mr::device_memory_resource& mr, int* out, int n, unsigned seed, cudaStream_t stream)
{
  mr::device_buffer scratch(n * sizeof(unsigned), stream, mr);
  hash_rows<<<(n + 255) / 256, 256, 0, stream>>>(scratch.as<unsigned>(), n, seed);
  RMM_CUDA_TRY(cudaGetLastError());
  count_even<<<(n + 255) / 256, 256, 0, stream>>>(scratch.as<unsigned>(), n, out);
  RMM_CUDA_TRY(cudaGetLastError());
}

int main()
{
  constexpr int n_streams = 3, n = 1 << 20;
  std::vector<cudaStream_t> streams(n_streams);
  std::vector<int*> counts(n_streams);
  auto mr = std::make_unique<mr::event_pool_resource>();
  for (int i = 0; i < n_streams; ++i) {
    RMM_CUDA_TRY(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    RMM_CUDA_TRY(cudaMalloc(&counts[i], sizeof(int)));
    RMM_CUDA_TRY(cudaMemsetAsync(counts[i], 0, sizeof(int), streams[i]));
  }
  for (int q = 0; q < 30; ++q) {
    run_query(*mr, counts[q % n_streams], n, 17u * q, streams[q % n_streams]);
  }
  mr.reset();
  for (int i = 0; i < n_streams; ++i) {
    RMM_CUDA_TRY(cudaStreamSynchronize(streams[i]));
    RMM_CUDA_TRY(cudaFree(counts[i]));
    RMM_CUDA_TRY(cudaStreamDestroy(streams[i]));
  }
  return 0;
}

#include <cuda_runtime.h>

#include <cstring>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#define CUDF_CUDA_TRY(call)                                             \
  do {                                                                  \
    cudaError_t const status = (call);                                  \
    if (status != cudaSuccess) {                                        \
      throw std::runtime_error{std::string{"CUDA error: "} +            \
                               cudaGetErrorString(status)};             \
    }                                                                   \
  } while (0)

namespace io::parquet {

constexpr std::size_t slab_bytes = 1 << 20;

/// Free list of fixed-size pinned slabs.
class pinned_slab_pool {
 public:
  ~pinned_slab_pool()
  {
    for (void* p : free_) { cudaFreeHost(p); }
  }
  void* acquire()
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      void* p{};
      CUDF_CUDA_TRY(cudaHostAlloc(&p, slab_bytes, cudaHostAllocDefault));
      return p;
    }
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void release(void* p)
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(p);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
};

template <typename T>
class pinned_span {
 public:
  pinned_span(pinned_slab_pool& pool, std::size_t n) : pool_(pool), data_(static_cast<T*>(pool.acquire()))
  {
    if (n * sizeof(T) > slab_bytes) { throw std::invalid_argument{"too many row groups"}; }
  }
  ~pinned_span() { pool_.release(data_); }
  pinned_span(pinned_span const&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  pinned_slab_pool& pool_;
  T* data_;
};

struct column_chunk_stats {
  std::vector<std::string> min_blob;
};

template <typename T>
struct host_column {
  pinned_slab_pool& pool;

  /// Uploads the minimum of every row group.
  void to_device(column_chunk_stats const& stats, T* d_min, cudaStream_t stream)
  {
    auto const n = stats.min_blob.size();
    if constexpr (std::is_same_v<T, char>) {
      std::size_t total = 0;
      for (auto const& s : stats.min_blob) { total += s.size(); }
      pinned_span<char> chars(pool, total);
      std::size_t at = 0;
      for (auto const& s : stats.min_blob) {
        std::memcpy(chars.data() + at, s.data(), s.size());
        at += s.size();
      }
      CUDF_CUDA_TRY(cudaMemcpyAsync(d_min, chars.data(), total, cudaMemcpyHostToDevice, stream));
      CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
    } else {
      pinned_span<T> values(pool, n);
      for (std::size_t i = 0; i < n; ++i) {
        T v{};
        std::memcpy(&v, stats.min_blob[i].data(), sizeof(T));
        values[i] = v;
      }
      CUDF_CUDA_TRY(cudaMemcpyAsync(d_min, values.data(), n * sizeof(T), cudaMemcpyHostToDevice, stream));
      CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
    }
  }
};

__global__ void filter_row_groups(int64_t const* a, double const* b, bool* keep, int n)
{
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { keep[i] = a[i] > 10 && b[i] < 0.5; }
}

void apply_stats_filter(std::vector<column_chunk_stats> const& stats, bool* d_keep, int64_t* d_a, double* d_b, cudaStream_t stream)
{
  pinned_slab_pool pool;
  int const n = static_cast<int>(stats[0].min_blob.size());
  host_column<int64_t>{pool}.to_device(stats[0], d_a, stream);
  host_column<double>{pool}.to_device(stats[1], d_b, stream);
  filter_row_groups<<<(n + 127) / 128, 128, 0, stream>>>(d_a, d_b, d_keep, n);
  CUDF_CUDA_TRY(cudaGetLastError());
  CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
}

}  // namespace io::parquet

int main()
{
  using namespace io::parquet;
  std::size_t const n = 50000;
  std::vector<column_chunk_stats> stats(2);
  for (auto& s : stats) { s.min_blob.assign(n, std::string(8, '\1')); }
  cudaStream_t stream;
  CUDF_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int64_t* a;
  double* b;
  bool* keep;
  CUDF_CUDA_TRY(cudaMalloc(&a, n * sizeof(int64_t)));
  CUDF_CUDA_TRY(cudaMalloc(&b, n * sizeof(double)));
  CUDF_CUDA_TRY(cudaMalloc(&keep, n));
  apply_stats_filter(stats, keep, a, b, stream);
  CUDF_CUDA_TRY(cudaFree(a));
  CUDF_CUDA_TRY(cudaFree(b));
  CUDF_CUDA_TRY(cudaFree(keep));
  CUDF_CUDA_TRY(cudaStreamDestroy(stream));
}

// Column-chunk statistics are collected on the host and moved to the device for predicate push-down.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <vector>

#define CUDF_CUDA_TRY(call)                                                    \
  do {                                                                         \
    cudaError_t const status = (call);                                         \
    if (cudaSuccess != status) throw std::runtime_error(cudaGetErrorString(status)); \
  } while (0)

namespace cudf::detail {

/** Slabs of pinned memory; get/put never touch the driver after warm-up. */
class pinned_pool {
 public:
  ~pinned_pool()
  {
    for (auto& [bytes, ptr] : free_) cudaFreeHost(ptr);
  }
  void* get(std::size_t bytes)
  {
    auto it = free_.lower_bound(bytes);
    if (it != free_.end()) return free_.extract(it).mapped();
    void* p = nullptr;
    CUDF_CUDA_TRY(cudaMallocHost(&p, bytes));
    return p;
  }
  void put(void* p, std::size_t bytes) { free_.emplace(bytes, p); }

 private:
  std::multimap<std::size_t, void*> free_;
};

template <typename T>
class host_vector {
 public:
  host_vector(std::size_t n, pinned_pool& pool) : n_(n), pool_(pool), data_(static_cast<T*>(pool.get(n * sizeof(T)))) {}
  ~host_vector() { pool_.put(data_, n_ * sizeof(T)); }
  host_vector(host_vector const&) = delete;
  T& operator[](std::size_t i) { return data_[i]; }
  T const* data() const { return data_; }
  std::size_t size() const { return n_; }

 private:
  std::size_t n_;
  pinned_pool& pool_;
  T* data_;
};

template <typename T>
T* make_device_async(host_vector<T> const& src, cudaStream_t stream)
{
  T* dst = nullptr;
  CUDF_CUDA_TRY(cudaMallocAsync(reinterpret_cast<void**>(&dst), src.size() * sizeof(T), stream));
  CUDF_CUDA_TRY(cudaMemcpyAsync(dst, src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  return dst;
}

}  // namespace cudf::detail

namespace cudf::io::parquet {

/** Statistics keep the first eight characters of a string. */
struct string_view {
  uint64_t prefix;
  __host__ __device__ friend bool operator<=(string_view a, string_view b) { return a.prefix <= b.prefix; }
};

struct row_group_stats {
  std::vector<uint8_t> min_value, max_value;
};

template <typename T>
struct stats_columns { T *min{}, *max{}; };

template <typename T>
__global__ void prune_kernel(stats_columns<T> stats, T literal, uint8_t* keep, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keep[i] &= (stats.min[i] <= literal && literal <= stats.max[i]);
}

template <typename T>
struct host_column {
  cudf::detail::host_vector<T> min, max;

  host_column(std::size_t n, cudf::detail::pinned_pool& pool) : min(n, pool), max(n, pool) {}

  void set_index(std::size_t i, row_group_stats const& s)
  {
    std::memcpy(&min[i], s.min_value.data(), sizeof(T));
    std::memcpy(&max[i], s.max_value.data(), sizeof(T));
  }

  stats_columns<T> to_device(cudaStream_t stream) const
  {
    if constexpr (std::is_same_v<T, string_view>) {
      stats_columns<T> out{cudf::detail::make_device_async(min, stream), cudf::detail::make_device_async(max, stream)};
      CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
      return out;
    } else {
      stats_columns<T> out{cudf::detail::make_device_async(min, stream), cudf::detail::make_device_async(max, stream)};
      CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
      return out;
    }
  }
};

class stats_filter {
 public:
  stats_filter(cudaStream_t stream) : stream_(stream) {}

  template <typename T>
  stats_columns<T> collect(std::vector<row_group_stats> const& groups)
  {
    host_column<T> column(groups.size(), pool_);
    for (std::size_t i = 0; i < groups.size(); ++i) column.set_index(i, groups[i]);
    return column.to_device(stream_);
  }

  template <typename T>
  void prune(std::vector<row_group_stats> const& groups, T literal, uint8_t* keep)
  {
    auto stats = collect<T>(groups);
    int const n = static_cast<int>(groups.size());
    prune_kernel<<<(n + 127) / 128, 128, 0, stream_>>>(stats, literal, keep, n);
    CUDF_CUDA_TRY(cudaGetLastError());
    CUDF_CUDA_TRY(cudaFreeAsync(stats.min, stream_));
    CUDF_CUDA_TRY(cudaFreeAsync(stats.max, stream_));
  }

 private:
  cudaStream_t stream_;
  cudf::detail::pinned_pool pool_;
};

// keep[i] stays 1 for the row groups that may contain a match in both columns
std::vector<uint8_t> filter_row_groups(std::vector<row_group_stats> const& ids, int64_t id,
                                       std::vector<row_group_stats> const& prices, double price, cudaStream_t stream)
{
  std::vector<uint8_t> result(ids.size());
  uint8_t* keep{};
  CUDF_CUDA_TRY(cudaMallocAsync(reinterpret_cast<void**>(&keep), result.size(), stream));
  CUDF_CUDA_TRY(cudaMemsetAsync(keep, 1, result.size(), stream));
  stats_filter filter(stream);
  filter.prune<int64_t>(ids, id, keep);
  filter.prune<double>(prices, price, keep);
  CUDF_CUDA_TRY(cudaMemcpyAsync(result.data(), keep, result.size(), cudaMemcpyDeviceToHost, stream));
  CUDF_CUDA_TRY(cudaFreeAsync(keep, stream));
  CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
  return result;
}

}  // namespace cudf::io::parquet

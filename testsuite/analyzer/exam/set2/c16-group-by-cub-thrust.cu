// GROUP BY on a column pair: sort, segment, reduce, everything on one
// non-blocking stream, with stream-ordered temporary storage.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include <cstdint>
#include <stdexcept>

namespace groupby {

struct Failure : std::runtime_error { using std::runtime_error::runtime_error; };
inline void need(cudaError_t e) { if (e) throw Failure(cudaGetErrorString(e)); }

class Scratch {
 public:
  explicit Scratch(cudaStream_t s) : s_(s) {}
  ~Scratch() { if (p_) cudaFreeAsync(p_, s_); }
  Scratch(const Scratch&) = delete;
  void* grow(size_t bytes) {
    if (bytes > n_) {
      if (p_) need(cudaFreeAsync(p_, s_));
      p_ = nullptr;
      n_ = 0;
      need(cudaMallocAsync(&p_, bytes, s_));
      n_ = bytes;
    }
    return p_;
  }

 private:
  cudaStream_t s_;
  void* p_ = nullptr;
  size_t n_ = 0;
};

struct Table {
  uint32_t *keys, *keys_sorted, *groups;
  float *vals, *vals_sorted, *sums;
  int* num_groups;
  int rows;
};

class Plan {
 public:
  Plan() {
    need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    need(cudaMallocHost(&host_groups_, sizeof(int)));
  }
  ~Plan() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(host_groups_);
    cudaStreamDestroy(stream_);
  }

  // Returns the number of groups and the grand total.
  int execute(const Table& t, float scale, float* grand_total) {
    auto policy = thrust::cuda::par_nosync.on(stream_);
    thrust::transform(policy, t.vals, t.vals + t.rows, t.vals,
                      [scale] __device__(float v) { return v * scale; });
    {
      Scratch tmp(stream_);
      size_t bytes = 0;
      need(cub::DeviceRadixSort::SortPairs(nullptr, bytes, t.keys, t.keys_sorted, t.vals, t.vals_sorted, t.rows, 0, 32, stream_));
      need(cub::DeviceRadixSort::SortPairs(tmp.grow(bytes), bytes, t.keys, t.keys_sorted, t.vals, t.vals_sorted, t.rows, 0, 32, stream_));
      need(cub::DeviceReduce::ReduceByKey(nullptr, bytes, t.keys_sorted, t.groups, t.vals_sorted, t.sums, t.num_groups, Add{}, t.rows, stream_));
      need(cub::DeviceReduce::ReduceByKey(tmp.grow(bytes), bytes, t.keys_sorted, t.groups, t.vals_sorted, t.sums, t.num_groups, Add{}, t.rows, stream_));
    }
    need(cudaMemcpyAsync(host_groups_, t.num_groups, sizeof(int), cudaMemcpyDeviceToHost, stream_));
    need(cudaStreamSynchronize(stream_));
    const int groups = *host_groups_;
    *grand_total = thrust::reduce(thrust::cuda::par.on(stream_), t.sums, t.sums + groups, 0.0f);
    return groups;
  }

 private:
  struct Add {
    __host__ __device__ float operator()(float a, float b) const { return a + b; }
  };
  cudaStream_t stream_ = nullptr;
  int* host_groups_ = nullptr;
};

}  // namespace groupby

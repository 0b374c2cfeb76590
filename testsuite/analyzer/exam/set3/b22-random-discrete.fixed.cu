/*
 * Sampling of integers from a discrete distribution given by weights.
 */
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#define RAFT_CUDA_TRY(call)                                                      \
  do {                                                                           \
    cudaError_t const status = call;                                             \
    if (status != cudaSuccess) {                                                 \
      cudaGetLastError();                                                        \
      throw std::runtime_error(std::string("CUDA error: ") + cudaGetErrorString(status)); \
    }                                                                            \
  } while (0)

namespace raft {

/** Resource handle: owns the main stream of one user. */
class resources {
 public:
  resources() { RAFT_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~resources() { cudaStreamDestroy(stream_); }
  resources(resources const&) = delete;
  cudaStream_t get_stream() const { return stream_; }
  void sync_stream() const { RAFT_CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
};

template <typename T>
class device_uvector {
 public:
  device_uvector(std::size_t n, cudaStream_t stream) : size_(n), stream_(stream)
  {
    RAFT_CUDA_TRY(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), n * sizeof(T), stream));
  }
  ~device_uvector() { cudaFreeAsync(ptr_, stream_); }
  device_uvector(device_uvector const&) = delete;
  T* data() { return ptr_; }
  std::size_t size() const { return size_; }

 private:
  T* ptr_{};
  std::size_t size_;
  cudaStream_t stream_;
};

namespace random::detail {

template <typename WeightT>
__global__ void clamp_weights_kernel(WeightT const* in, WeightT* out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] > WeightT{0} ? in[i] : WeightT{0};
}

__device__ inline uint32_t hash_u32(uint32_t x)
{
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

template <typename OutT, typename WeightT>
__global__ void pick_kernel(OutT* out, int n_out, WeightT const* cdf, int n, uint32_t seed)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n_out) return;
  WeightT u = WeightT(hash_u32(seed + t)) / WeightT(4294967296.0) * cdf[n - 1];
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] <= u) lo = mid + 1; else hi = mid;
  }
  out[t] = static_cast<OutT>(lo);
}

template <typename WeightT>
void inclusive_cdf(resources const& handle, WeightT const* weights, WeightT* cdf, int n)
{
  auto stream = handle.get_stream();
  std::size_t bytes = 0;
  RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(nullptr, bytes, weights, cdf, n, stream));
  device_uvector<char> workspace(bytes, stream);
  RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(workspace.data(), bytes, weights, cdf, n, stream));
}

template <typename OutT, typename WeightT>
void discrete_impl(resources const& handle, OutT* out, int n_out, WeightT const* weights, int n, uint32_t seed)
{
  auto stream = handle.get_stream();
  device_uvector<WeightT> positive(n, stream);
  device_uvector<WeightT> cdf(n, stream);
  clamp_weights_kernel<<<(n + 255) / 256, 256, 0, stream>>>(weights, positive.data(), n);
  RAFT_CUDA_TRY(cudaGetLastError());
  inclusive_cdf(handle, positive.data(), cdf.data(), n);
  pick_kernel<<<(n_out + 255) / 256, 256, 0, stream>>>(out, n_out, cdf.data(), n, seed);
  RAFT_CUDA_TRY(cudaGetLastError());
}

}  // namespace random::detail

namespace random {
void discrete(resources const& handle, int* out, int n_out, float const* weights, int n, uint32_t seed)
{
  detail::discrete_impl(handle, out, n_out, weights, n, seed);
}
}  // namespace random
}  // namespace raft

/*
 * Sampling from a discrete distribution by inverting the cumulative weights.
 */
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define RAFT_CUDA_TRY(call)                                                       \
  do {                                                                            \
    cudaError_t const status = call;                                              \
    if (status != cudaSuccess) {                                                  \
      cudaGetLastError();                                                         \
      throw std::runtime_error(std::string("CUDA error at ") + #call + ": " +     \
                               cudaGetErrorString(status));                       \
    }                                                                             \
  } while (0)

namespace mlprims {

class resources {
 public:
  resources() { RAFT_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~resources() { cudaStreamDestroy(stream_); }
  resources(resources const&)            = delete;
  resources& operator=(resources const&) = delete;
  cudaStream_t get_stream() const { return stream_; }
  void sync_stream() const { RAFT_CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
};

template <typename T>
class device_uvector {
 public:
  device_uvector(std::size_t n, cudaStream_t s) : size_(n), stream_(s)
  {
    RAFT_CUDA_TRY(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), n * sizeof(T), s));
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

namespace detail {

template <typename WeightT>
__global__ void exp_weights_kernel(WeightT* w, WeightT const* logits, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] = exp(logits[i]);
}

template <typename IdxT, typename WeightT>
__global__ void invert_cdf_kernel(IdxT* out, WeightT const* cdf, int n_samples, int len, uint64_t seed)
{
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= n_samples) return;
  uint64_t x = seed + 0x9e3779b97f4a7c15ull * (tid + 1);
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ull;
  WeightT u = WeightT(x >> 40) / WeightT(1 << 24) * cdf[len - 1];
  IdxT lo = 0, hi = len - 1;
  while (lo < hi) {
    IdxT mid = (lo + hi) / 2;
    if (cdf[mid] < u) lo = mid + 1; else hi = mid;
  }
  out[tid] = lo;
}

template <typename WeightT>
void inclusive_cdf(WeightT const* weights, WeightT* cdf, int len, cudaStream_t stream)
{
  std::size_t bytes = 0;
  RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(nullptr, bytes, weights, cdf, len, stream));
  device_uvector<char> workspace(bytes, stream);
  RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(workspace.data(), bytes, weights, cdf, len, stream));
}

}  // namespace detail

template <typename IdxT, typename WeightT>
void discrete(resources const& handle, IdxT* out, int n_samples, WeightT const* logits, int len, uint64_t seed)
{
  auto stream = handle.get_stream();
  device_uvector<WeightT> weights(len, stream);
  device_uvector<WeightT> cdf(len, stream);
  constexpr int tpb = 256;
  detail::exp_weights_kernel<<<(len + tpb - 1) / tpb, tpb, 0, stream>>>(weights.data(), logits, len);
  RAFT_CUDA_TRY(cudaPeekAtLastError());
  detail::inclusive_cdf(weights.data(), cdf.data(), len, stream);
  detail::invert_cdf_kernel<<<(n_samples + tpb - 1) / tpb, tpb, 0, stream>>>(out, cdf.data(), n_samples, len, seed);
  RAFT_CUDA_TRY(cudaPeekAtLastError());
}

}  // namespace mlprims

int main()
{
  mlprims::resources handle;
  auto stream = handle.get_stream();
  constexpr int len = 1 << 16, n = 4096;
  std::vector<float> h_logits(len, 0.f);
  std::vector<int> h_out(n);
  mlprims::device_uvector<float> logits(len, stream);
  mlprims::device_uvector<int> out(n, stream);
  RAFT_CUDA_TRY(cudaMemcpyAsync(logits.data(), h_logits.data(), len * sizeof(float), cudaMemcpyHostToDevice, stream));
  mlprims::discrete<int, float>(handle, out.data(), n, logits.data(), len, 1234ull);
  RAFT_CUDA_TRY(cudaMemcpyAsync(h_out.data(), out.data(), n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  handle.sync_stream();
  std::printf("%d\n", h_out[0]);
  return 0;
}

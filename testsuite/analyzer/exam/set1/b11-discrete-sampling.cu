#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rnd {

inline void try_cuda(cudaError_t e, int line)
{
  if (e != cudaSuccess) { throw std::runtime_error("cuda error at line " + std::to_string(line)); }
}
#define RND_TRY(x) ::rnd::try_cuda((x), __LINE__)

class resources {
 public:
  resources() { RND_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~resources()
  {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  resources(const resources&)            = delete;
  resources& operator=(const resources&) = delete;
  cudaStream_t get_stream() const { return stream_; }
  void sync_stream() const { RND_TRY(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
};

template <typename T>
struct scoped_buffer {
  scoped_buffer(std::size_t n, cudaStream_t s) : stream(s)
  {
    RND_TRY(cudaMallocAsync(&ptr, n * sizeof(T), s));
  }
  ~scoped_buffer() { cudaFreeAsync(ptr, stream); }
  scoped_buffer(const scoped_buffer&) = delete;
  T* ptr = nullptr;
  cudaStream_t stream;
};

template <typename WeightT>
__global__ void clamp_weights_kernel(const WeightT* in, WeightT* out, int len)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < len) { out[i] = in[i] > WeightT(0) ? in[i] : WeightT(0); }
}

template <typename WeightT, typename IdxT>
__global__ void draw_kernel(const WeightT* cdf, int len, IdxT* out, int count, std::uint64_t seed)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) { return; }
  std::uint64_t z = (seed + i) * 0x9E3779B97F4A7C15ull;
  z               = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  WeightT u       = cdf[len - 1] * static_cast<WeightT>((z >> 40) * (1.0 / 16777216.0));
  int lo = 0, hi = len - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] < u) { lo = mid + 1; } else { hi = mid; }
  }
  out[i] = static_cast<IdxT>(lo);
}

namespace detail {

template <typename WeightT>
void build_cdf(const resources& res, const WeightT* clamped, WeightT* cdf, int len)
{
  auto stream       = res.get_stream();
  std::size_t bytes = 0;
  RND_TRY(cub::DeviceScan::InclusiveSum(nullptr, bytes, clamped, cdf, len));
  scoped_buffer<char> temp(bytes, stream);
  RND_TRY(cub::DeviceScan::InclusiveSum(temp.ptr, bytes, clamped, cdf, len));
}

}  // namespace detail

/// Draws `count` indices with probability proportional to `weights`.
template <typename WeightT, typename IdxT>
void discrete(const resources& res, std::uint64_t seed, IdxT* out, int count, const WeightT* weights, int len)
{
  auto stream = res.get_stream();
  scoped_buffer<WeightT> clamped(len, stream);
  scoped_buffer<WeightT> cdf(len, stream);
  clamp_weights_kernel<<<(len + 255) / 256, 256, 0, stream>>>(weights, clamped.ptr, len);
  RND_TRY(cudaGetLastError());
  detail::build_cdf(res, clamped.ptr, cdf.ptr, len);
  draw_kernel<<<(count + 255) / 256, 256, 0, stream>>>(cdf.ptr, len, out, count, seed);
  RND_TRY(cudaGetLastError());
}

template void discrete<float, int>(const resources&, std::uint64_t, int*, int, const float*, int);
template void discrete<double, int>(const resources&, std::uint64_t, int*, int, const double*, int);

}  // namespace rnd

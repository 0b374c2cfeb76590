#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#define CUDF_CUDA_TRY(expr)                                              \
  if (auto const e_ = (expr); e_ != cudaSuccess) {                       \
    std::cerr << __FILE__ << ":" << __LINE__ << " "                      \
              << cudaGetErrorName(e_) << std::endl;                      \
    std::abort();                                                        \
  }

namespace tabular {

using size_type   = int32_t;
using stream_view = cudaStream_t;

/// A single value of type T in device memory.
template <typename T>
class device_scalar {
 public:
  explicit device_scalar(T const& init, stream_view stream)
  {
    CUDF_CUDA_TRY(cudaMalloc(&data_, sizeof(T)));
    CUDF_CUDA_TRY(cudaMallocHost(&host_, sizeof(T)));
    set_value(init, stream);
  }
  ~device_scalar()
  {
    cudaFree(data_);
    cudaFreeHost(host_);
  }
  device_scalar(device_scalar const&) = delete;

  /// Copies the value to the host and waits for it.
  T value(stream_view stream = cudaStreamLegacy) const
  {
    CUDF_CUDA_TRY(cudaMemcpyAsync(host_, data_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
    return *host_;
  }

  void set_value(T const& v, stream_view stream = cudaStreamLegacy)
  {
    *host_ = v;
    CUDF_CUDA_TRY(cudaMemcpyAsync(data_, host_, sizeof(T), cudaMemcpyHostToDevice, stream));
    CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
  }

  T* data() noexcept { return data_; }

 private:
  T* data_{};
  T* host_{};
};

struct column_view {
  double const* values;
  size_type size;
};

namespace detail {

__global__ void set_null_mask(double const* in, uint32_t* mask, size_type n, size_type* null_count)
{
  size_type const i  = blockIdx.x * blockDim.x + threadIdx.x;
  bool const valid   = i < n && in[i] == in[i];
  uint32_t const bal = __ballot_sync(0xffffffffu, valid);
  if ((threadIdx.x & 31) == 0 && i < n) {
    size_type const in_word = min(32, n - i);
    mask[i / 32] = bal;
    atomicAdd(null_count, in_word - __popc(bal));
  }
}

struct mask_deleter {
  void operator()(uint32_t* p) const { cudaFree(p); }
};
using mask_ptr = std::unique_ptr<uint32_t, mask_deleter>;

std::pair<mask_ptr, size_type> nans_to_nulls(column_view const& col, stream_view stream)
{
  uint32_t* raw{};
  CUDF_CUDA_TRY(cudaMalloc(&raw, ((col.size + 31) / 32) * sizeof(uint32_t)));
  mask_ptr mask(raw);
  device_scalar<size_type> null_count(0, stream);
  constexpr int block = 256;
  set_null_mask<<<(col.size + block - 1) / block, block, 0, stream>>>(col.values, raw, col.size, null_count.data());
  CUDF_CUDA_TRY(cudaGetLastError());
  auto const nulls = null_count.value();
  if (nulls == 0) { mask.reset(); }
  return {std::move(mask), nulls};
}

}  // namespace detail
}  // namespace tabular

int main()
{
  using namespace tabular;
  cudaStream_t stream;
  CUDF_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  double* values;
  size_type const n = 1 << 20;
  CUDF_CUDA_TRY(cudaMalloc(&values, n * sizeof(double)));
  CUDF_CUDA_TRY(cudaMemsetAsync(values, 0xff, n * sizeof(double), stream));
  auto result = detail::nans_to_nulls({values, n}, stream);
  std::cout << "null count " << result.second << "\n";
  CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
  CUDF_CUDA_TRY(cudaFree(values));
  CUDF_CUDA_TRY(cudaStreamDestroy(stream));
}

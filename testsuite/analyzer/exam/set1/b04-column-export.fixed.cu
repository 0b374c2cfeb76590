#include <cuda_runtime.h>

#include <cstring>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

namespace tbl {

inline void expect(cudaError_t st, char const* where) {
  if (st != cudaSuccess) throw std::system_error(st, std::generic_category(), where);
}
#define TBL_TRY(call) ::tbl::expect((call), #call)

/// Page-locked array, fixed size.
template <typename T>
class pinned_array {
 public:
  explicit pinned_array(std::size_t n) : n_{n} { TBL_TRY(cudaMallocHost(&p_, n * sizeof(T))); }
  ~pinned_array() { cudaFreeHost(p_); }
  pinned_array(pinned_array const&) = delete;
  pinned_array& operator=(pinned_array const&) = delete;

  T* data() { return p_; }
  T* begin() { return p_; }
  T* end() { return p_ + n_; }
  std::size_t size() const { return n_; }

 private:
  T* p_{nullptr};
  std::size_t n_;
};

__global__ void count_nulls_kernel(unsigned const* mask, int words, int* out) {
  int acc = 0;
  for (int w = blockIdx.x * blockDim.x + threadIdx.x; w < words; w += gridDim.x * blockDim.x)
    acc += 32 - __popc(mask[w]);
  atomicAdd(&out[blockIdx.x % 32], acc);
}

struct column_view {
  void const* data;
  unsigned const* null_mask;
  int size;
};

struct exported_array {
  std::string format;
  int length;
  int null_count;
};

namespace detail {

constexpr int num_partials = 32;

/// Launches the null count and brings the partial sums to `out`.
void gather_null_partials(column_view const& col, int* scratch, pinned_array<int>& out,
                          cudaStream_t stream) {
  int const words = (col.size + 31) / 32;
  TBL_TRY(cudaMemsetAsync(scratch, 0, num_partials * sizeof(int), stream));
  count_nulls_kernel<<<64, 256, 0, stream>>>(col.null_mask, words, scratch);
  TBL_TRY(cudaGetLastError());
  TBL_TRY(cudaMemcpyAsync(out.data(), scratch, num_partials * sizeof(int), cudaMemcpyDeviceToHost,
                          stream));
}

}  // namespace detail

exported_array export_column(column_view const& col, cudaStream_t stream) {
  exported_array result;
  result.format = "i";
  result.length = col.size;
  result.null_count = 0;
  if (col.null_mask == nullptr) { return result; }

  int* scratch = nullptr;
  TBL_TRY(cudaMallocAsync(&scratch, detail::num_partials * sizeof(int), stream));
  pinned_array<int> partials(detail::num_partials);

  detail::gather_null_partials(col, scratch, partials, stream);
  TBL_TRY(cudaFreeAsync(scratch, stream));
  TBL_TRY(cudaStreamSynchronize(stream));

  result.null_count = std::accumulate(partials.begin(), partials.end(), 0);
  return result;
}

std::vector<exported_array> export_table(std::vector<column_view> const& cols, cudaStream_t stream) {
  std::vector<exported_array> out;
  out.reserve(cols.size());
  for (auto const& c : cols) out.push_back(export_column(c, stream));
  return out;
}

}  // namespace tbl

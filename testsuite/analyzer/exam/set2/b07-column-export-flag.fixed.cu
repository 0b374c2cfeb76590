#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quiver {

class cuda_failure : public std::runtime_error {
 public:
  cuda_failure(cudaError_t e, int line)
    : std::runtime_error("line " + std::to_string(line) + ": " + cudaGetErrorName(e)) {}
};
#define QV_TRY(x) \
  if (cudaError_t const qv_e = (x); qv_e != cudaSuccess) throw cuda_failure(qv_e, __LINE__)

struct pinned_deleter {
  void operator()(void* p) const noexcept { cudaFreeHost(p); }
};
template <typename T>
using pinned_array = std::unique_ptr<T[], pinned_deleter>;

template <typename T>
pinned_array<T> make_pinned_array(std::size_t n)
{
  void* p = nullptr;
  QV_TRY(cudaMallocHost(&p, n * sizeof(T)));
  return pinned_array<T>(static_cast<T*>(p));
}

struct device_column {
  double const* values;
  std::uint32_t const* mask;
  std::size_t rows;
};

struct host_column {
  pinned_array<double> values;
  pinned_array<std::uint32_t> mask;
  std::size_t rows       = 0;
  std::size_t null_count = 0;
};

struct export_options {
  bool validate = false;
};

class exporter {
 public:
  exporter(export_options opts, cudaStream_t stream) : opts_(opts), stream_(stream) {}

  host_column enqueue(device_column const& col)
  {
    std::size_t const words = (col.rows + 31) / 32;
    host_column out;
    out.rows   = col.rows;
    out.values = make_pinned_array<double>(col.rows);
    out.mask   = make_pinned_array<std::uint32_t>(words);
    QV_TRY(cudaMemcpyAsync(out.values.get(), col.values, col.rows * sizeof(double), cudaMemcpyDeviceToHost, stream_));
    QV_TRY(cudaMemcpyAsync(out.mask.get(), col.mask, words * 4, cudaMemcpyDeviceToHost, stream_));
    return out;
  }

  void finish()
  {
    QV_TRY(cudaStreamSynchronize(stream_));
    if (opts_.validate) { QV_TRY(cudaGetLastError()); }
  }

 private:
  export_options opts_;
  cudaStream_t stream_;
};

static std::size_t count_nulls(std::uint32_t const* mask, std::size_t rows)
{
  std::size_t valid = 0;
  for (std::size_t r = 0; r < rows; ++r)
    valid += (mask[r / 32] >> (r % 32)) & 1u;
  return rows - valid;
}

std::vector<host_column> to_host(std::vector<device_column> const& table,
                                 export_options opts,
                                 cudaStream_t stream)
{
  exporter ex(opts, stream);
  std::vector<host_column> result;
  result.reserve(table.size());
  for (auto const& col : table)
    result.push_back(ex.enqueue(col));
  ex.finish();
  for (auto& col : result)
    col.null_count = count_nulls(col.mask.get(), col.rows);
  return result;
}

}  // namespace quiver

// Moves meter readings from device columns into host columns for the report writer.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace meter {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void scaleReadings(const int32_t* raw, double* kwh, double factor, size_t rows) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows) kwh[i] = raw[i] * factor;
}

template <typename T>
struct PinnedDelete {
  void operator()(T* p) const { cudaFreeHost(p); }
};
template <typename T>
using PinnedArray = std::unique_ptr<T[], PinnedDelete<T>>;

template <typename T>
PinnedArray<T> makePinned(size_t n) {
  void* p = nullptr;
  ok(cudaMallocHost(&p, (n ? n : 1) * sizeof(T)));
  return PinnedArray<T>(static_cast<T*>(p));
}

struct NumericColumn {  // device side
  const double* values;
  size_t rows;
};

struct TextColumn {  // device side, offsets has rows + 1 entries
  const int32_t* offsets;
  const char* chars;
  size_t rows;
};

// Host columns own page-locked memory and know nothing of streams.
struct HostNumeric {
  PinnedArray<double> values;
  size_t rows = 0;
};

struct HostText {
  PinnedArray<int32_t> offsets;
  PinnedArray<char> chars;
  size_t rows = 0;
  std::string at(size_t i) const {
    return std::string(chars.get() + offsets[i], chars.get() + offsets[i + 1]);
  }
};

class Exporter {
 public:
  explicit Exporter(cudaStream_t stream) : stream_(stream) {}

  HostText toHost(const TextColumn& col) const {
    HostText out;
    out.rows = col.rows;
    out.offsets = makePinned<int32_t>(col.rows + 1);
    copy(out.offsets.get(), col.offsets, col.rows + 1);
    ok(cudaStreamSynchronize(stream_));  // the number of characters is needed next
    const size_t bytes = static_cast<size_t>(out.offsets[col.rows]);
    out.chars = makePinned<char>(bytes);
    copy(out.chars.get(), col.chars, bytes);
    ok(cudaStreamSynchronize(stream_));
    return out;
  }

  HostNumeric toHost(const NumericColumn& col) const {
    HostNumeric out;
    out.rows = col.rows;
    out.values = makePinned<double>(col.rows);
    copy(out.values.get(), col.values, col.rows);
    return out;
  }

 private:
  template <typename T>
  void copy(T* dst, const T* src, size_t n) const {
    if (n) ok(cudaMemcpyAsync(dst, src, n * sizeof(T), cudaMemcpyDeviceToHost, stream_));
  }
  cudaStream_t stream_;
};

class MonthlyReport {
 public:
  MonthlyReport(cudaStream_t stream, double factor)
      : stream_(stream), exporter_(stream), factor_(factor) {}

  // `raw` holds one counter per customer. Both inputs are ordered on the report's stream.
  void write(std::ostream& os, const TextColumn& customers, const int32_t* raw) {
    double* kwh = nullptr;
    const size_t rows = customers.rows;
    if (rows == 0) return;
    const HostText names = exporter_.toHost(customers);
    ok(cudaMallocAsync(reinterpret_cast<void**>(&kwh), rows * sizeof(double), stream_));
    scaleReadings<<<unsigned((rows + 255) / 256), 256, 0, stream_>>>(raw, kwh, factor_, rows);
    ok(cudaGetLastError());
    const HostNumeric use = exporter_.toHost(NumericColumn{kwh, rows});
    ok(cudaFreeAsync(kwh, stream_));
    print(os, names, use);
  }

 private:
  static void print(std::ostream& os, const HostText& names, const HostNumeric& use) {
    double total = 0.0;
    for (size_t i = 0; i < use.rows; ++i) {
      total += use.values[i];
      os << names.at(i) << ';' << use.values[i] << '\n';
    }
    os << "total;" << total << '\n';
  }

  cudaStream_t stream_;
  Exporter exporter_;
  double factor_;
};

}  // namespace meter

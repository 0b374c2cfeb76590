// Exports device columns of a trade table to host columns for the reporting library.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_OK(x)                                                       \
  do {                                                                   \
    cudaError_t rc = (x);                                                \
    if (rc != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(rc)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

template <typename T>
using HostArray = std::shared_ptr<T[]>;

template <typename T>
HostArray<T> host_array(size_t n) {
  T* p = nullptr;
  CUDA_OK(cudaMallocHost(&p, n * sizeof(T)));
  return HostArray<T>(p, [](T* q) { cudaFreeHost(q); });
}

// Plain host column as the reporting library wants it; it knows nothing of streams.
struct HostColumn {
  size_t rows = 0;
  HostArray<double> values;
  HostArray<uint8_t> valid;
};

struct DeviceColumn {
  double* values = nullptr;
  uint8_t* valid = nullptr;
};

__global__ void fill_trades(double* price, double* qty, uint8_t* pv, uint8_t* qv, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  price[i] = 100.0 + 0.01 * (i % 977);
  qty[i] = 1 + i % 13;
  pv[i] = i % 101 != 0;
  qv[i] = 1;
}

__global__ void apply_fx(double* price, double rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) price[i] *= rate;
}

class TradeTable {
 public:
  explicit TradeTable(int rows) : rows_(rows) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (DeviceColumn* c : {&price_, &qty_}) {
      CUDA_OK(cudaMalloc(&c->values, rows_ * sizeof(double)));
      CUDA_OK(cudaMalloc(&c->valid, rows_));
    }
    fill_trades<<<grid(), 256, 0, stream_>>>(price_.values, qty_.values, price_.valid, qty_.valid, rows_);
    CUDA_OK(cudaGetLastError());
  }
  ~TradeTable() {
    cudaStreamSynchronize(stream_);
    for (DeviceColumn* c : {&price_, &qty_}) {
      cudaFree(c->valid);
      cudaFree(c->values);
    }
    cudaStreamDestroy(stream_);
  }
  TradeTable(const TradeTable&) = delete;
  TradeTable& operator=(const TradeTable&) = delete;

  void convert(double rate) {
    apply_fx<<<grid(), 256, 0, stream_>>>(price_.values, rate, rows_);
    CUDA_OK(cudaGetLastError());
  }

  HostColumn export_price() const { return export_column(price_); }
  HostColumn export_quantity() const { return export_column(qty_); }

 private:
  int grid() const { return (rows_ + 255) / 256; }

  HostColumn export_column(const DeviceColumn& c) const {
    HostColumn out;
    out.rows = rows_;
    out.values = host_array<double>(rows_);
    out.valid = host_array<uint8_t>(rows_);
    CUDA_OK(cudaMemcpyAsync(out.values.get(), c.values, rows_ * sizeof(double), cudaMemcpyDeviceToHost, stream_));
    CUDA_OK(cudaMemcpyAsync(out.valid.get(), c.valid, rows_, cudaMemcpyDeviceToHost, stream_));
    return out;
  }

  int rows_;
  cudaStream_t stream_ = nullptr;
  DeviceColumn price_, qty_;
};

static double notional(const HostColumn& price, const HostColumn& qty) {
  double sum = 0;
  for (size_t i = 0; i < price.rows; ++i) {
    if (!price.valid[i] || !qty.valid[i]) continue;
    sum += price.values[i] * qty.values[i];
  }
  return sum;
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 1 << 22;
  const std::vector<double> rates = {1.0, 0.92, 0.79};
  for (double rate : rates) {
    TradeTable table(rows);
    table.convert(rate);
    const HostColumn price = table.export_price();
    const HostColumn qty = table.export_quantity();
    std::printf("rate %.2f notional %.2f\n", rate, notional(price, qty));
  }
  return 0;
}

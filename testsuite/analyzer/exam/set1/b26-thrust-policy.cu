#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace gbt {

#define safe_cuda(ans) gbt::throw_on((ans), __FILE__, __LINE__)
inline cudaError_t throw_on(cudaError_t code, const char *file, int line) {
  if (code != cudaSuccess) {
    std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(code));
    std::exit(EXIT_FAILURE);
  }
  return code;
}

/*! \brief Number of rows of each quantile bin. */
__global__ void CountKernel(const unsigned char *bins, unsigned n_rows, unsigned *counts) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += gridDim.x * blockDim.x) {
    atomicAdd(&counts[bins[i]], 1u);
  }
}

__global__ void ScatterKernel(const unsigned char *bins, unsigned n_rows, unsigned *cursor, unsigned *order) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += gridDim.x * blockDim.x) {
    order[atomicAdd(&cursor[bins[i]], 1u)] = i;
  }
}

class RowPartitioner {
 public:
  static constexpr unsigned kBins = 256;

  explicit RowPartitioner(unsigned n_rows) : n_rows_{n_rows} {
    safe_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    safe_cuda(cudaMalloc(&counts_, kBins * sizeof(unsigned)));
    safe_cuda(cudaMalloc(&cursor_, kBins * sizeof(unsigned)));
    safe_cuda(cudaMalloc(&order_, n_rows * sizeof(unsigned)));
  }

  ~RowPartitioner() {
    safe_cuda(cudaStreamSynchronize(stream_));
    safe_cuda(cudaFree(order_));
    safe_cuda(cudaFree(cursor_));
    safe_cuda(cudaFree(counts_));
    safe_cuda(cudaStreamDestroy(stream_));
  }

  RowPartitioner(const RowPartitioner &) = delete;

  /*! \brief Sorts the row ids by bin; the caller has finished writing `bins`. */
  const unsigned *Partition(const unsigned char *bins) {
    Count(bins);
    Offsets();
    Scatter(bins);
    return order_;
  }

  void Wait() { safe_cuda(cudaStreamSynchronize(stream_)); }

 private:
  void Count(const unsigned char *bins) {
    safe_cuda(cudaMemsetAsync(counts_, 0, kBins * sizeof(unsigned), stream_));
    CountKernel<<<128, 256, 0, stream_>>>(bins, n_rows_, counts_);
    safe_cuda(cudaGetLastError());
  }

  void Offsets() {
    auto in = thrust::device_pointer_cast(counts_);
    auto out = thrust::device_pointer_cast(cursor_);
    thrust::exclusive_scan(thrust::device, in, in + kBins, out);
  }

  void Scatter(const unsigned char *bins) {
    ScatterKernel<<<128, 256, 0, stream_>>>(bins, n_rows_, cursor_, order_);
    safe_cuda(cudaGetLastError());
  }

  unsigned n_rows_;
  cudaStream_t stream_{nullptr};
  unsigned *counts_{nullptr};
  unsigned *cursor_{nullptr};
  unsigned *order_{nullptr};
};

}  // namespace gbt

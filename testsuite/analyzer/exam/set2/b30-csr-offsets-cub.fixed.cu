// COO to CSR conversion.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <stdexcept>

namespace sparse {

#define SPARSE_CUDA_TRY(call)                                  \
  do {                                                         \
    cudaError_t const st = (call);                             \
    if (cudaSuccess != st) {                                   \
      (void)cudaGetLastError();                                \
      throw std::runtime_error(cudaGetErrorString(st));        \
    }                                                          \
  } while (0)

class resources {
 public:
  resources() { SPARSE_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~resources() { cudaStreamDestroy(stream_); }
  resources(resources const&) = delete;
  resources& operator=(resources const&) = delete;
  cudaStream_t get_stream() const { return stream_; }
  void sync_stream() const { SPARSE_CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
};

template <typename IdxT>
__global__ void count_rows(IdxT const* rows, IdxT nnz, IdxT* counts)
{
  IdxT i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nnz) atomicAdd(&counts[rows[i]], IdxT{1});
}

template <typename IdxT, typename ValT>
__global__ void scatter(IdxT const* rows, IdxT const* cols, ValT const* vals, IdxT nnz,
                        IdxT const* indptr, IdxT* cursor, IdxT* out_cols, ValT* out_vals)
{
  IdxT i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nnz) return;
  IdxT at = indptr[rows[i]] + atomicAdd(&cursor[rows[i]], IdxT{1});
  out_cols[at] = cols[i];
  out_vals[at] = vals[i];
}

template <typename IdxT, typename ValT>
void coo_to_csr(resources const& handle, IdxT const* rows, IdxT const* cols, ValT const* vals,
                IdxT nnz, IdxT nrows, IdxT* indptr, IdxT* out_cols, ValT* out_vals)
{
  cudaStream_t stream = handle.get_stream();
  IdxT* counts        = nullptr;
  SPARSE_CUDA_TRY(cudaMallocAsync(&counts, sizeof(IdxT) * (nrows + 1), stream));
  SPARSE_CUDA_TRY(cudaMemsetAsync(counts, 0, sizeof(IdxT) * (nrows + 1), stream));

  int const threads = 256;
  int const blocks  = (nnz + threads - 1) / threads;
  count_rows<<<blocks, threads, 0, stream>>>(rows, nnz, counts);

  void* temp        = nullptr;
  size_t temp_bytes = 0;
  SPARSE_CUDA_TRY(cub::DeviceScan::ExclusiveSum(nullptr, temp_bytes, counts, indptr, nrows + 1, stream));
  SPARSE_CUDA_TRY(cudaMallocAsync(&temp, temp_bytes, stream));
  SPARSE_CUDA_TRY(cub::DeviceScan::ExclusiveSum(temp, temp_bytes, counts, indptr, nrows + 1, stream));

  SPARSE_CUDA_TRY(cudaMemsetAsync(counts, 0, sizeof(IdxT) * (nrows + 1), stream));
  scatter<<<blocks, threads, 0, stream>>>(rows, cols, vals, nnz, indptr, counts, out_cols, out_vals);
  SPARSE_CUDA_TRY(cudaGetLastError());
  SPARSE_CUDA_TRY(cudaFreeAsync(temp, stream));
  SPARSE_CUDA_TRY(cudaFreeAsync(counts, stream));
  handle.sync_stream();
}

template void coo_to_csr<int, float>(resources const&, int const*, int const*, float const*, int, int, int*, int*, float*);

}  // namespace sparse

// ORDER BY ... LIMIT k for a column store.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <optional>

namespace columnar {

class TempStorage {
 public:
  TempStorage(size_t bytes, cudaStream_t stream) : stream_(stream) {
    if (cudaMallocAsync(&ptr_, bytes, stream_) != cudaSuccess) ptr_ = nullptr;
  }
  ~TempStorage() {
    if (ptr_) cudaFreeAsync(ptr_, 0);
  }
  TempStorage(const TempStorage&) = delete;
  TempStorage& operator=(const TempStorage&) = delete;
  void* get() const { return ptr_; }

 private:
  void* ptr_ = nullptr;
  cudaStream_t stream_;
};

__global__ void iota(uint32_t* ids, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ids[i] = i;
}

struct SortBuffers {
  uint64_t* keys_out;
  uint32_t* ids_in;
  uint32_t* ids_out;
};

cudaError_t sort_descending(const uint64_t* keys, const SortBuffers& buf, int n, cudaStream_t stream) {
  size_t bytes = 0;
  cudaError_t rc = cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, keys, buf.keys_out, buf.ids_in,
                                                             buf.ids_out, n, 0, 64, stream);
  if (rc != cudaSuccess) return rc;
  TempStorage temp(bytes, stream);
  if (!temp.get()) return cudaErrorMemoryAllocation;
  return cub::DeviceRadixSort::SortPairsDescending(temp.get(), bytes, keys, buf.keys_out, buf.ids_in,
                                                   buf.ids_out, n, 0, 64, stream);
}

class Query {
 public:
  Query() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Query() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  // Row ids of the k largest keys, into pinned memory. Blocks.
  std::optional<int> top_k(const uint64_t* keys, const SortBuffers& buf, int n, int k, uint32_t* pinned_ids) {
    if (k > n) k = n;
    iota<<<(n + 255) / 256, 256, 0, stream_>>>(buf.ids_in, n);
    cudaError_t rc = sort_descending(keys, buf, n, stream_);
    if (rc == cudaSuccess)
      rc = cudaMemcpyAsync(pinned_ids, buf.ids_out, k * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_);
    if (rc == cudaSuccess) rc = cudaStreamSynchronize(stream_);
    if (rc != cudaSuccess) {
      std::fprintf(stderr, "top_k: %s\n", cudaGetErrorString(rc));
      return std::nullopt;
    }
    return k;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace columnar

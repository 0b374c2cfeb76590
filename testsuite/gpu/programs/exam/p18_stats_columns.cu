// Column statistics of a Parquet reader are gathered in pinned slabs and sent to the device column by column.
// Modelled on NVIDIA/cudf#23178.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#define CUDF_CUDA_TRY(call)                                                               \
  do {                                                                                    \
    cudaError_t const s_ = (call);                                                        \
    if (s_ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(s_));     \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

class pinned_slab_pool {
 public:
  explicit pinned_slab_pool(size_t slab_bytes) : bytes_(slab_bytes) {}
  ~pinned_slab_pool() {
    for (void* p : all_) cudaFreeHost(p);
  }
  void* acquire() {
    std::lock_guard<std::mutex> lk(m_);
    if (free_.empty()) {
      void* p;
      CUDF_CUDA_TRY(cudaMallocHost(&p, bytes_));
      all_.push_back(p);
      return p;
    }
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void release(void* p) {
    std::lock_guard<std::mutex> lk(m_);
    free_.push_back(p);
  }

 private:
  size_t bytes_;
  std::mutex m_;
  std::vector<void*> all_, free_;
};

template <typename T>
class host_vector {
 public:
  host_vector(pinned_slab_pool& pool, size_t n) : pool_(pool), data_(static_cast<T*>(pool.acquire())), n_(n) {}
  ~host_vector() { pool_.release(data_); }
  host_vector(host_vector const&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  size_t size_bytes() const { return n_ * sizeof(T); }

 private:
  pinned_slab_pool& pool_;
  T* data_;
  size_t n_;
};

template <typename T>
struct host_column {
  host_vector<T> min_values;
  host_column(pinned_slab_pool& pool, size_t row_groups) : min_values(pool, row_groups) {}
  void set(size_t rg, T v) { min_values[rg] = v; }
  void to_device(T* out, cudaStream_t stream) {
    CUDF_CUDA_TRY(cudaMemcpyAsync(out, min_values.data(), min_values.size_bytes(), cudaMemcpyHostToDevice, stream));
#ifdef FIXED
    CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
#endif
  }
};

__global__ void scan_pages(float* pages, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = pages[i];
  for (int k = 0; k < rounds; ++k) v = fmaf(v, 0.9999f, 0.25f);
  pages[i] = v;
}
__global__ void prune(int const* mins, int n, int literal, int* kept) {
  int c = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) c += mins[i] <= literal;
  atomicAdd(kept, c);
}

int main() {
  constexpr int columns = 3, row_groups = 1 << 16, n = 1 << 15;
  cudaStream_t stream;
  CUDF_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* pages;
  int *mins, *kept, *host_kept;
  CUDF_CUDA_TRY(cudaMalloc(&pages, n * sizeof(float)));
  CUDF_CUDA_TRY(cudaMalloc(&mins, columns * row_groups * sizeof(int)));
  CUDF_CUDA_TRY(cudaMalloc(&kept, columns * sizeof(int)));
  CUDF_CUDA_TRY(cudaMallocHost(&host_kept, columns * sizeof(int)));
  CUDF_CUDA_TRY(cudaMemsetAsync(pages, 0, n * sizeof(float), stream));
  CUDF_CUDA_TRY(cudaMemsetAsync(kept, 0, columns * sizeof(int), stream));
  {
    pinned_slab_pool pool(row_groups * sizeof(int));
    for (int c = 0; c < columns; ++c) {
      scan_pages<<<n / 256, 256, 0, stream>>>(pages, n, 400000);
      CUDF_CUDA_TRY(cudaGetLastError());
      host_column<int> stats(pool, row_groups);
      for (int rg = 0; rg < row_groups; ++rg) stats.set(rg, c * 1000 + rg % 500);
      stats.to_device(mins + c * row_groups, stream);
      prune<<<1, 256, 0, stream>>>(mins + c * row_groups, row_groups, c * 1000 + 100, kept + c);
      CUDF_CUDA_TRY(cudaGetLastError());
    }
    CUDF_CUDA_TRY(cudaMemcpyAsync(host_kept, kept, columns * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDF_CUDA_TRY(cudaStreamSynchronize(stream));
  }
  for (int c = 0; c < columns; ++c) std::printf("column %d keeps %d row groups\n", c, host_kept[c]);
  cudaFree(pages), cudaFree(mins), cudaFree(kept), cudaFreeHost(host_kept), cudaStreamDestroy(stream);
  return 0;
}

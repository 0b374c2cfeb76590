#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <cuda_runtime.h>

#include <cstddef>
#include <new>
#include <utility>

namespace dedup {

// Temporary memory for thrust from the stream-ordered pool.
class StreamAllocator {
 public:
  using value_type = char;
  explicit StreamAllocator(cudaStream_t s) : stream_{s} {}

  char* allocate(std::ptrdiff_t n) {
    void* p = nullptr;
    if (cudaMallocAsync(&p, static_cast<size_t>(n), stream_) != cudaSuccess) throw std::bad_alloc{};
    return static_cast<char*>(p);
  }
  void deallocate(char* p, size_t) { cudaFreeAsync(p, stream_); }

 private:
  cudaStream_t stream_;
};

class KeyBuffer {
 public:
  KeyBuffer(size_t n, cudaStream_t s) : size_{n}, stream_{s} {
    if (cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(unsigned), s) != cudaSuccess)
      throw std::bad_alloc{};
  }
  KeyBuffer(KeyBuffer&& o) noexcept : p_{std::exchange(o.p_, nullptr)}, size_{o.size_}, stream_{o.stream_} {}
  KeyBuffer(const KeyBuffer&) = delete;
  ~KeyBuffer() {
    if (p_) cudaFreeAsync(p_, stream_);
  }
  thrust::device_ptr<unsigned> begin() const { return thrust::device_pointer_cast(p_); }
  thrust::device_ptr<unsigned> end() const { return begin() + size_; }
  unsigned* data() const { return p_; }
  size_t size() const { return size_; }
  void shrink(size_t n) { size_ = n; }

 private:
  unsigned* p_ = nullptr;
  size_t size_;
  cudaStream_t stream_;
};

__global__ void hash_rows(const unsigned* rows, int width, unsigned* keys, size_t n) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  unsigned h = 2166136261u;
  for (int c = 0; c < width; ++c) h = (h ^ rows[i * width + c]) * 16777619u;
  keys[i] = h;
}

// Sorted distinct keys of the rows. The buffer belongs to `stream`.
KeyBuffer distinct_keys(const unsigned* rows, size_t n, int width, cudaStream_t stream) {
  KeyBuffer keys(n > 0 ? n : 1, stream);
  keys.shrink(n);
  if (n == 0) return keys;
  hash_rows<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(rows, width, keys.data(), n);

  StreamAllocator alloc(stream);
  auto policy = thrust::cuda::par(alloc).on(stream);
  thrust::sort(policy, keys.begin(), keys.end());
  auto last = thrust::unique(policy, keys.begin(), keys.end());
  keys.shrink(static_cast<size_t>(last - keys.begin()));
  return keys;
}

// The result is needed on the host at once: this policy waits for the stream.
unsigned checksum(const unsigned* rows, size_t n, int width, cudaStream_t stream) {
  KeyBuffer keys = distinct_keys(rows, n, width, stream);
  StreamAllocator alloc(stream);
  return thrust::reduce(thrust::cuda::par(alloc).on(stream), keys.begin(), keys.end(), 0u);
}

}  // namespace dedup

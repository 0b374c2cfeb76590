#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <vector>

// Page-locked memory is expensive to get, so freed blocks are kept.
class PinnedCache {
 public:
  static PinnedCache& instance() {
    static PinnedCache c;
    return c;
  }

  void* take(std::size_t bytes) {
    std::lock_guard<std::mutex> l(m_);
    auto it = free_.lower_bound(bytes);
    if (it != free_.end()) {
      void* p = it->second;
      sizes_[p] = it->first;
      free_.erase(it);
      return p;
    }
    void* p = nullptr;
    if (cudaHostAlloc(&p, bytes, cudaHostAllocPortable) != cudaSuccess) throw std::bad_alloc();
    sizes_[p] = bytes;
    return p;
  }

  void give_back(void* p) {
    std::lock_guard<std::mutex> l(m_);
    free_.emplace(sizes_[p], p);
  }

 private:
  std::mutex m_;
  std::multimap<std::size_t, void*> free_;
  std::map<void*, std::size_t> sizes_;
};

template <class T>
struct PinnedAllocator {
  using value_type = T;
  PinnedAllocator() = default;
  template <class U>
  PinnedAllocator(const PinnedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(PinnedCache::instance().take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { PinnedCache::instance().give_back(p); }
  template <class U>
  bool operator==(const PinnedAllocator<U>&) const { return true; }
  template <class U>
  bool operator!=(const PinnedAllocator<U>&) const { return false; }
};

template <class T>
using pinned_vector = std::vector<T, PinnedAllocator<T>>;

struct Segment {
  int begin;
  int end;
};

__global__ void segment_sums(const Segment* segs, int n, const float* x, float* out) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= n) return;
  float acc = 0.f;
  for (int i = segs[s].begin; i < segs[s].end; ++i) acc += x[i];
  out[s] = acc;
}

/// Sums `x` over the ranges given by `offsets`; results stay on the device.
cudaError_t reduce_segments(const std::vector<int>& offsets, const float* x, float* out,
                            cudaStream_t stream) {
  const int n = static_cast<int>(offsets.size()) - 1;
  if (n <= 0) return cudaSuccess;

  pinned_vector<Segment> host(n);
  for (int i = 0; i < n; ++i) host[i] = Segment{offsets[i], offsets[i + 1]};

  Segment* dev = nullptr;
  cudaError_t rc = cudaMallocAsync(&dev, sizeof(Segment) * host.size(), stream);
  if (rc != cudaSuccess) return rc;

  rc = cudaMemcpyAsync(dev, host.data(), sizeof(Segment) * host.size(), cudaMemcpyHostToDevice,
                       stream);
  if (rc == cudaSuccess) {
    segment_sums<<<(n + 127) / 128, 128, 0, stream>>>(dev, n, x, out);
    rc = cudaGetLastError();
  }
  cudaError_t rc2 = cudaFreeAsync(dev, stream);
  cudaError_t rc3 = cudaStreamSynchronize(stream);  // `host` must outlive the copy
  if (rc2 == cudaSuccess) rc2 = rc3;
  return rc != cudaSuccess ? rc : rc2;
}

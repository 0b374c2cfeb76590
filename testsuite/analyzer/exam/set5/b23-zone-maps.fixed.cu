#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace tsdb {

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Fixed-size page-locked slabs, LIFO.
class PinnedPool {
 public:
  static constexpr std::size_t kSlab = std::size_t{4} << 20;

  struct Return {
    PinnedPool* pool;
    void operator()(void* p) const { pool->put(p); }
  };
  using Slab = std::unique_ptr<void, Return>;

  ~PinnedPool() {
    for (void* p : free_) cudaFreeHost(p);
  }

  Slab take() {
    std::lock_guard<std::mutex> lock(mu_);
    if (free_.empty()) {
      void* p = nullptr;
      check(cudaHostAlloc(&p, kSlab, cudaHostAllocDefault));
      return Slab(p, Return{this});
    }
    void* p = free_.back();
    free_.pop_back();
    return Slab(p, Return{this});
  }

 private:
  void put(void* p) {
    std::lock_guard<std::mutex> lock(mu_);
    free_.push_back(p);
  }
  std::mutex mu_;
  std::vector<void*> free_;
};

class DeviceColumn {
 public:
  DeviceColumn(std::size_t bytes, cudaStream_t s) : stream_(s) { check(cudaMallocAsync(&ptr_, bytes, s)); }
  DeviceColumn(DeviceColumn&& o) noexcept : ptr_(o.ptr_), stream_(o.stream_) { o.ptr_ = nullptr; }
  DeviceColumn(const DeviceColumn&) = delete;
  ~DeviceColumn() {
    if (ptr_) cudaFreeAsync(ptr_, stream_);
  }
  template <typename T>
  T* as() const {
    return static_cast<T*>(ptr_);
  }

 private:
  void* ptr_ = nullptr;
  cudaStream_t stream_;
};

struct Bounds {
  std::vector<double> lo, hi;
  std::vector<std::string> series;
};

class StatsUploader {
 public:
  StatsUploader(PinnedPool& pool, cudaStream_t s) : pool_(pool), stream_(s) {}

  template <typename T>
  DeviceColumn numbers(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    if (bytes > PinnedPool::kSlab) throw std::length_error("row group too large");
    auto slab = pool_.take();
    std::memcpy(slab.get(), values.data(), bytes);
    DeviceColumn col(bytes, stream_);
    check(cudaMemcpyAsync(col.as<void>(), slab.get(), bytes, cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
    return col;
  }

  DeviceColumn prefixes(const std::vector<std::string>& values) {
    const std::size_t bytes = values.size() * sizeof(std::uint64_t);
    auto slab = pool_.take();
    auto* words = static_cast<std::uint64_t*>(slab.get());
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t w = 0;
      std::memcpy(&w, values[i].data(), values[i].size() < 8 ? values[i].size() : 8);
      words[i] = w;
    }
    DeviceColumn col(bytes, stream_);
    check(cudaMemcpyAsync(col.as<void>(), words, bytes, cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
    return col;
  }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_;
};

__global__ void keep_groups(const double* lo, const double* hi, const std::uint64_t* key, double from, double to,
                            std::uint64_t wanted, std::uint8_t* keep, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keep[i] = hi[i] >= from && lo[i] <= to && (wanted == 0 || key[i] == wanted);
}

std::vector<std::uint8_t> prune(PinnedPool& pool, const Bounds& b, double from, double to, cudaStream_t stream) {
  const int n = static_cast<int>(b.lo.size());
  StatsUploader up(pool, stream);
  DeviceColumn key = up.prefixes(b.series);
  DeviceColumn lo = up.numbers(b.lo);
  DeviceColumn hi = up.numbers(b.hi);
  DeviceColumn keep(n, stream);
  keep_groups<<<(n + 255) / 256, 256, 0, stream>>>(lo.as<double>(), hi.as<double>(), key.as<std::uint64_t>(), from, to,
                                                   0, keep.as<std::uint8_t>(), n);
  check(cudaGetLastError());
  std::vector<std::uint8_t> out(n);
  check(cudaMemcpyAsync(out.data(), keep.as<void>(), n, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return out;
}

}  // namespace tsdb

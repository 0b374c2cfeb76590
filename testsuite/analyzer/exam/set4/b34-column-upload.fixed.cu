// Columnar scan: min/max statistics of row groups are moved to the device so
// that the predicate can be evaluated for all groups at once.
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace scan {

void cudaCheck(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(e));
}
#define SCAN_CUDA(x) ::scan::cudaCheck((x), __FILE__, __LINE__)

class SlabPool {
 public:
  explicit SlabPool(size_t slab) : slab_(slab) {}
  ~SlabPool() {
    for (void* p : idle_) cudaFreeHost(p);
  }
  std::shared_ptr<void> lease(size_t bytes) {
    if (bytes > slab_) throw std::length_error("slab too small");
    void* p = nullptr;
    {
      std::lock_guard<std::mutex> lk(m_);
      if (!idle_.empty()) {
        p = idle_.back();
        idle_.pop_back();
      }
    }
    if (!p) SCAN_CUDA(cudaMallocHost(&p, slab_));
    return std::shared_ptr<void>(p, [this](void* q) {
      std::lock_guard<std::mutex> lk(m_);
      idle_.push_back(q);
    });
  }

 private:
  size_t slab_;
  std::mutex m_;
  std::vector<void*> idle_;
};

enum class ColumnKind { Fixed, String };

struct HostStats {
  ColumnKind kind;
  std::vector<double> fixed;
  std::string chars;
  std::vector<int> offsets;
};

struct DeviceStats {
  double* fixed = nullptr;
  char* chars = nullptr;
  int* offsets = nullptr;
  int rows = 0;
};

class StatsUploader {
 public:
  StatsUploader(SlabPool& pool, cudaStream_t stream) : pool_(pool), stream_(stream) {}

  DeviceStats toDevice(const HostStats& h) {
    return h.kind == ColumnKind::String ? strings(h) : fixed(h);
  }

 private:
  template <class T>
  T* copy(const T* src, size_t n, void* staging) {
    T* d = nullptr;
    SCAN_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&d), n * sizeof(T), stream_));
    std::memcpy(staging, src, n * sizeof(T));
    SCAN_CUDA(cudaMemcpyAsync(d, staging, n * sizeof(T), cudaMemcpyHostToDevice, stream_));
    return d;
  }

  DeviceStats strings(const HostStats& h) {
    auto a = pool_.lease(h.chars.size());
    auto b = pool_.lease(h.offsets.size() * sizeof(int));
    DeviceStats d;
    d.chars = copy(h.chars.data(), h.chars.size(), a.get());
    d.offsets = copy(h.offsets.data(), h.offsets.size(), b.get());
    d.rows = static_cast<int>(h.offsets.size()) - 1;
    SCAN_CUDA(cudaStreamSynchronize(stream_));
    return d;
  }

  DeviceStats fixed(const HostStats& h) {
    auto a = pool_.lease(h.fixed.size() * sizeof(double));
    DeviceStats d;
    d.fixed = copy(h.fixed.data(), h.fixed.size(), a.get());
    d.rows = static_cast<int>(h.fixed.size());
    SCAN_CUDA(cudaStreamSynchronize(stream_));
    return d;
  }

  SlabPool& pool_;
  cudaStream_t stream_;
};

__global__ void pruneGroups(const double* lo, const double* hi, double value, int rows, unsigned char* keep) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) keep[i] = lo[i] <= value && value <= hi[i];
}

std::vector<unsigned char> filterRowGroups(SlabPool& pool, const HostStats& minima, const HostStats& maxima,
                                           double value, cudaStream_t stream) {
  StatsUploader up(pool, stream);
  DeviceStats lo = up.toDevice(minima);
  DeviceStats hi = up.toDevice(maxima);
  unsigned char* keep = nullptr;
  SCAN_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&keep), lo.rows, stream));
  pruneGroups<<<(lo.rows + 127) / 128, 128, 0, stream>>>(lo.fixed, hi.fixed, value, lo.rows, keep);
  SCAN_CUDA(cudaGetLastError());
  std::vector<unsigned char> out(lo.rows);
  SCAN_CUDA(cudaMemcpyAsync(out.data(), keep, out.size(), cudaMemcpyDeviceToHost, stream));
  for (void* p : {static_cast<void*>(lo.fixed), static_cast<void*>(hi.fixed), static_cast<void*>(keep)})
    SCAN_CUDA(cudaFreeAsync(p, stream));
  SCAN_CUDA(cudaStreamSynchronize(stream));
  return out;
}

}  // namespace scan

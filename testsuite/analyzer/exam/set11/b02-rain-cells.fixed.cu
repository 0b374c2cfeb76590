// Stream compaction of radar echoes: keep the cells above a reflectivity
// threshold, packed in scan order.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace nowcast {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

struct Echo {
  float dbz;
  int range_gate;
  int azimuth;
};

/// Owns the stream of one radar site and the buffers that go with it.
class SiteContext {
 public:
  SiteContext() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~SiteContext() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  SiteContext(const SiteContext&) = delete;
  SiteContext& operator=(const SiteContext&) = delete;
  cudaStream_t stream() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <typename T>
class StreamArray {
 public:
  StreamArray(std::size_t n, cudaStream_t stream) : n_(n), stream_(stream) {
    check(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), stream), "alloc");
  }
  ~StreamArray() { cudaFreeAsync(p_, stream_); }
  StreamArray(const StreamArray&) = delete;
  StreamArray& operator=(const StreamArray&) = delete;
  T* get() const noexcept { return p_; }
  std::size_t size() const noexcept { return n_; }

 private:
  T* p_ = nullptr;
  std::size_t n_;
  cudaStream_t stream_;
};

__global__ void mark_echoes(const Echo* echoes, int n, float threshold, int* flags) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flags[i] = echoes[i].dbz >= threshold ? 1 : 0;
}

__global__ void pack_echoes(const Echo* echoes, const int* flags, const int* slots, int n, Echo* packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && flags[i]) packed[slots[i]] = echoes[i];
}

inline int blocks_for(int n) { return (n + 255) / 256; }

/// Turns flags into output positions.
void positions(const StreamArray<int>& flags, StreamArray<int>& slots, const SiteContext& site) {
  const int n = static_cast<int>(flags.size());
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, flags.get(), slots.get(), n, site.stream()), "scan size");
  StreamArray<unsigned char> scratch(bytes, site.stream());
  check(cub::DeviceScan::ExclusiveSum(scratch.get(), bytes, flags.get(), slots.get(), n, site.stream()), "scan");
}

/// Packs the echoes above `threshold` into `packed` and gives their number.
int compact(const Echo* echoes, int n, float threshold, Echo* packed, const SiteContext& site) {
  if (n == 0) return 0;
  StreamArray<int> flags(static_cast<std::size_t>(n), site.stream());
  StreamArray<int> slots(static_cast<std::size_t>(n), site.stream());
  mark_echoes<<<blocks_for(n), 256, 0, site.stream()>>>(echoes, n, threshold, flags.get());
  check(cudaGetLastError(), "mark");

  positions(flags, slots, site);

  pack_echoes<<<blocks_for(n), 256, 0, site.stream()>>>(echoes, flags.get(), slots.get(), n, packed);
  check(cudaGetLastError(), "pack");

  int last_slot = 0;
  int last_flag = 0;
  check(cudaMemcpyAsync(&last_slot, slots.get() + n - 1, sizeof(int), cudaMemcpyDeviceToHost, site.stream()), "copy");
  check(cudaMemcpyAsync(&last_flag, flags.get() + n - 1, sizeof(int), cudaMemcpyDeviceToHost, site.stream()), "copy");
  check(cudaStreamSynchronize(site.stream()), "sync");
  return last_slot + last_flag;
}

}  // namespace nowcast

#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace radar {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Grid {
  int ranges;
  int dopplers;
  size_t cells() const { return static_cast<size_t>(ranges) * dopplers; }
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_{};
};

__global__ void accumulate(const float* power, float threshold, unsigned* hits, int n, int dwells) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  unsigned h = 0;
  for (int d = 0; d < dwells; ++d) h += power[static_cast<size_t>(d) * n + c] > threshold;
  hits[c] += h;
}

__global__ void confirm(const unsigned* hits, unsigned need, unsigned char* mask, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < n) mask[c] = hits[c] >= need;
}

// Counts threshold crossings per range/Doppler cell over one coherent interval.
class DetectionMap {
 public:
  DetectionMap(Grid g, cudaStream_t s) : grid_(g), stream_(s) {
    check(cudaMalloc(&hits_, bytes()), "hits");
    check(cudaMalloc(&mask_, g.cells()), "mask");
  }
  ~DetectionMap() {
    cudaStreamSynchronize(stream_);
    cudaFree(hits_);
    cudaFree(mask_);
  }
  DetectionMap(const DetectionMap&) = delete;

  void clear() { check(cudaMemsetAsync(hits_, 0, bytes(), stream_), "clear"); }

  void add(const float* power, int dwells, float threshold) {
    accumulate<<<blocks(), 256, 0, stream_>>>(power, threshold, hits_, n(), dwells);
    check(cudaGetLastError(), "accumulate");
  }

  void emit(unsigned need, unsigned char* pinned_out) {
    confirm<<<blocks(), 256, 0, stream_>>>(hits_, need, mask_, n());
    check(cudaGetLastError(), "confirm");
    check(cudaMemcpyAsync(pinned_out, mask_, grid_.cells(), cudaMemcpyDeviceToHost, stream_), "emit");
  }

 private:
  int n() const { return static_cast<int>(grid_.cells()); }
  int blocks() const { return (n() + 255) / 256; }
  size_t bytes() const { return grid_.cells() * sizeof(unsigned); }

  Grid grid_;
  cudaStream_t stream_;
  unsigned* hits_ = nullptr;
  unsigned char* mask_ = nullptr;
};

// Replays a recorded scan; every interval gets its own slice of the pinned mask archive.
size_t replay(const float* device_power, Grid g, int intervals, int dwells, unsigned char* archive) {
  Stream s;
  auto map = std::make_unique<DetectionMap>(g, s);
  for (int i = 0; i < intervals; ++i) {
    map->clear();
    map->add(device_power + static_cast<size_t>(i) * dwells * g.cells(), dwells, 12.5f);
    map->emit(3, archive + i * g.cells());
  }
  check(cudaStreamSynchronize(s), "drain");
  size_t total = 0;
  for (size_t k = 0; k < intervals * g.cells(); ++k) total += archive[k];
  return total;
}

}  // namespace radar

int main() {
  radar::Grid g{512, 256};
  const int intervals = 32, dwells = 8;
  float* power = nullptr;
  unsigned char* archive = nullptr;
  size_t pb = g.cells() * intervals * dwells * sizeof(float);
  radar::check(cudaMalloc(&power, pb), "power");
  radar::check(cudaMemset(power, 0x41, pb), "power fill");
  radar::check(cudaMallocHost(&archive, g.cells() * intervals), "archive");
  radar::check(cudaDeviceSynchronize(), "setup");
  size_t detections = radar::replay(power, g, intervals, dwells, archive);
  cudaFreeHost(archive);
  cudaFree(power);
  return detections == 0;
}

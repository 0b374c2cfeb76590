// Flux update of a reservoir model, tile by tile.  Tiles are independent and are dealt out to a small
// ring of streams.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace reservoir {

inline void ensure(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Tile {
  double* pressure = nullptr;    // (nx + 2) * ny, device
  double* saturation = nullptr;  // nx * ny, device
  int nx = 0, ny = 0;
};

class DeviceVector {
 public:
  explicit DeviceVector(size_t n) { ensure(cudaMalloc(&p_, n * sizeof(double))); }
  ~DeviceVector() { cudaFree(p_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;
  double* data() { return p_; }

 private:
  double* p_ = nullptr;
};

// Deals out streams round robin; fork() and join() order the ring with the caller's stream.
class StreamRing {
 public:
  explicit StreamRing(int n) : streams_(n), done_(n) {
    for (auto& s : streams_) ensure(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& e : done_) ensure(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ensure(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
  }
  ~StreamRing() {
    for (auto s : streams_) cudaStreamSynchronize(s);
    for (auto s : streams_) cudaStreamDestroy(s);
    for (auto e : done_) cudaEventDestroy(e);
    cudaEventDestroy(start_);
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;

  void fork(cudaStream_t from) {
    ensure(cudaEventRecord(start_, from));
    for (auto s : streams_) ensure(cudaStreamWaitEvent(s, start_, 0));
  }
  void join(cudaStream_t into) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      ensure(cudaEventRecord(done_[i], streams_[i]));
      ensure(cudaStreamWaitEvent(into, done_[i], 0));
    }
  }
  int size() const { return static_cast<int>(streams_.size()); }
  cudaStream_t operator[](int i) const { return streams_[i]; }

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> done_;
  cudaEvent_t start_{};
};

__global__ void faceFlux(const double* pressure, double* flux, int nx, int ny, double mobility) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i <= nx && j < ny) flux[j * (nx + 1) + i] = mobility * (pressure[j * (nx + 2) + i] - pressure[j * (nx + 2) + i + 1]);
}

__global__ void applyFlux(double* saturation, const double* flux, int nx, int ny, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i < nx && j < ny) saturation[j * nx + i] += dt * (flux[j * (nx + 1) + i] - flux[j * (nx + 1) + i + 1]);
}

class FluxUpdate {
 public:
  FluxUpdate(int maxNx, int maxNy, int lanes)
      : flux_(size_t(maxNx + 1) * maxNy),
        ring_(lanes) {}

  // Updates all tiles; ordered with work before and after it on `stream`.
  void operator()(std::vector<Tile>& tiles, double dt, cudaStream_t stream) {
    ring_.fork(stream);
    int lane = 0;
    for (Tile& tile : tiles) {
      computeFlux(tile, lane);
      update(tile, lane, dt);
      lane = (lane + 1) % ring_.size();
    }
    ring_.join(stream);
  }

 private:
  void computeFlux(const Tile& t, int lane) {
    dim3 grid((t.nx + 1 + 127) / 128, t.ny);
    faceFlux<<<grid, 128, 0, ring_[lane]>>>(t.pressure, flux_.data(), t.nx, t.ny, 1e-3);
    ensure(cudaGetLastError());
  }

  void update(Tile& t, int lane, double dt) {
    dim3 grid((t.nx + 127) / 128, t.ny);
    applyFlux<<<grid, 128, 0, ring_[lane]>>>(t.saturation, flux_.data(), t.nx, t.ny, dt);
    ensure(cudaGetLastError());
  }

  DeviceVector flux_;
  StreamRing ring_;
};

}  // namespace reservoir

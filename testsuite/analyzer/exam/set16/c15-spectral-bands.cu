// Hyperspectral unmixing: bands are visited by an iterator that rotates streams, with events at both ends.
#include <cuda_runtime.h>

#include <array>
#include <stdexcept>
#include <string>

namespace bands {

#define BANDS_CHECK(e)                                                                                     \
  do {                                                                                                     \
    if (cudaError_t rc = (e); rc != cudaSuccess) throw std::runtime_error(std::string(#e) + ": " + cudaGetErrorString(rc)); \
  } while (0)

constexpr int kLanes = 3;

class LanePool {
 public:
  LanePool() {
    BANDS_CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    for (auto& lane : lanes_) {
      BANDS_CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      BANDS_CHECK(cudaEventCreateWithFlags(&lane.end, cudaEventDisableTiming));
    }
  }
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;
  ~LanePool() {
    for (auto& lane : lanes_) {
      cudaStreamSynchronize(lane.stream);
      cudaStreamDestroy(lane.stream);
      cudaEventDestroy(lane.end);
    }
    cudaEventDestroy(begin_);
  }

  cudaStream_t lane(int i) const { return lanes_[i % kLanes].stream; }

  void forkFrom(cudaStream_t parent) {
    BANDS_CHECK(cudaEventRecord(begin_, parent));
    for (auto& lane : lanes_) BANDS_CHECK(cudaStreamWaitEvent(lane.stream, begin_, 0));
  }
  void joinTo(cudaStream_t parent) {
    for (auto& lane : lanes_) {
      BANDS_CHECK(cudaEventRecord(lane.end, lane.stream));
      BANDS_CHECK(cudaStreamWaitEvent(parent, lane.end, 0));
    }
  }

 private:
  struct Lane {
    cudaStream_t stream{};
    cudaEvent_t end{};
  };
  std::array<Lane, kLanes> lanes_;
  cudaEvent_t begin_{};
};

struct Cube {
  float* data;  // [bands, pixels]
  int bands;
  int pixels;
  float* band(int b) const { return data + size_t(b) * pixels; }
};

/// for (BandLoop it(pool, stream, cube.bands); it.more(); it.next()) { ... it.index(), it.stream() ... }
class BandLoop {
 public:
  BandLoop(LanePool& pool, cudaStream_t parent, int count) : pool_(pool), parent_(parent), count_(count) {
    pool_.forkFrom(parent_);
  }
  BandLoop(const BandLoop&) = delete;

  bool more() {
    if (index_ < count_) return true;
    if (!joined_) {
      pool_.joinTo(parent_);
      joined_ = true;
    }
    return false;
  }
  void next() { ++index_; }
  int index() const { return index_; }
  cudaStream_t stream() const { return pool_.lane(index_); }

 private:
  LanePool& pool_;
  cudaStream_t parent_;
  int count_;
  int index_ = 0;
  bool joined_ = false;
};

__global__ void meanSpectrum(const float* data, float* mean, int bands, int pixels) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bands) return;
  float acc = 0.f;
  for (int p = 0; p < pixels; ++p) acc += data[size_t(b) * pixels + p];
  mean[b] = acc / pixels;
}

__global__ void centre(float* band, const float* mean, int b, int pixels) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < pixels) band[p] -= mean[b];
}

__global__ void energy(const float* data, float* out, int bands, int pixels) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float acc = 0.f;
  for (int b = 0; b < bands; ++b) acc += data[size_t(b) * pixels + p] * data[size_t(b) * pixels + p];
  out[p] = acc;
}

/// Centres the cube and computes the energy per pixel; `mean` and `out` are ready in the order of `stream`.
void centredEnergy(LanePool& pool, const Cube& cube, float* mean, float* out, cudaStream_t stream) {
  meanSpectrum<<<(cube.bands + 63) / 64, 64, 0, stream>>>(cube.data, mean, cube.bands, cube.pixels);
  for (BandLoop it(pool, stream, cube.bands); it.more(); it.next())
    centre<<<(cube.pixels + 255) / 256, 256, 0, it.stream()>>>(cube.band(it.index()), mean, it.index(), cube.pixels);
  energy<<<(cube.pixels + 255) / 256, 256, 0, stream>>>(cube.data, out, cube.bands, cube.pixels);
  BANDS_CHECK(cudaGetLastError());
}

}  // namespace bands

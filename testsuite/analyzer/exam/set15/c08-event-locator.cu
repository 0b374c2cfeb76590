#include <cuda_runtime.h>

#include <cstdio>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

// Location of earthquakes: worker threads compute travel-time residuals per station on
// streams of their own; the locator collects them into a misfit map.

static void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void residual_kernel(float sx, float sy, float pick, float* residual, int side, float slowness) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side * side) return;
  const float dx = sx - i % side, dy = sy - i / side;
  residual[i] = pick - slowness * sqrtf(dx * dx + dy * dy);
}

__global__ void misfit_kernel(const float* residual, float* misfit, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) misfit[i] += residual[i] * residual[i];
}

struct Station {
  float x, y, pick;
};

// A residual map, the stream that fills it and an event behind the last write.
class ResidualMap {
 public:
  explicit ResidualMap(int side) : side_(side) {
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cu(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    cu(cudaMalloc(&data_, sizeof(float) * side * side));
  }
  ~ResidualMap() {
    cudaStreamSynchronize(stream_);
    cudaFree(data_);
    cudaEventDestroy(filled_);
    cudaStreamDestroy(stream_);
  }
  ResidualMap(const ResidualMap&) = delete;
  ResidualMap& operator=(const ResidualMap&) = delete;

  void fill(const Station& s, float slowness) {
    const int n = side_ * side_;
    residual_kernel<<<(n + 255) / 256, 256, 0, stream_>>>(s.x, s.y, s.pick, data_, side_, slowness);
    cu(cudaGetLastError());
    cu(cudaEventRecord(filled_, stream_));
  }

  const float* data_on(cudaStream_t consumer) const {
    cu(cudaStreamWaitEvent(consumer, filled_, 0));
    return data_;
  }

 private:
  int side_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t filled_ = nullptr;
  float* data_ = nullptr;
};
using MapPtr = std::unique_ptr<ResidualMap>;

MapPtr residuals(Station s, int side, float slowness) {
  auto map = std::make_unique<ResidualMap>(side);
  map->fill(s, slowness);
  return map;
}

class Locator {
 public:
  explicit Locator(int side) : n_(side * side) {
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cu(cudaMalloc(&misfit_, n_ * sizeof(float)));
    cu(cudaMemsetAsync(misfit_, 0, n_ * sizeof(float), stream_));
  }
  ~Locator() {
    cudaStreamSynchronize(stream_);
    maps_.clear();
    cudaFree(misfit_);
    cudaStreamDestroy(stream_);
  }
  Locator(const Locator&) = delete;
  Locator& operator=(const Locator&) = delete;

  void add(MapPtr map) {
    const float* residual = map->data_on(stream_);
    misfit_kernel<<<(n_ + 255) / 256, 256, 0, stream_>>>(residual, misfit_, n_);
    cu(cudaGetLastError());
    maps_.push_back(std::move(map));
  }

  int best() {
    std::vector<float> host(n_);
    cu(cudaMemcpyAsync(host.data(), misfit_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    cu(cudaStreamSynchronize(stream_));
    maps_.clear();
    int best = 0;
    for (int i = 1; i < n_; ++i)
      if (host[i] < host[best]) best = i;
    return best;
  }

 private:
  int n_;
  cudaStream_t stream_ = nullptr;
  float* misfit_ = nullptr;
  std::vector<MapPtr> maps_;
};

int main() {
  constexpr int kSide = 1024;
  const std::vector<Station> network = {
      {10.f, 20.f, 310.f}, {900.f, 40.f, 280.f}, {500.f, 1000.f, 330.f}, {30.f, 700.f, 260.f}};
  std::vector<std::future<MapPtr>> pending;
  for (const Station& s : network)
    pending.push_back(std::async(std::launch::async, residuals, s, kSide, 0.5f));
  Locator locator(kSide);
  for (auto& p : pending) locator.add(p.get());
  const int cell = locator.best();
  std::printf("epicentre at (%d, %d)\n", cell % kSide, cell / kSide);
  return 0;
}

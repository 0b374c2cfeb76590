// Monte Carlo localisation: likelihood weighting and systematic resampling on the GPU.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define GPU_CHECK(expr)                                                              \
  do {                                                                               \
    cudaError_t st_ = (expr);                                                        \
    if (st_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(st_)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

namespace mcl {

struct Pose {
  float x, y, theta;
};

struct Beam {
  float range;
  float bearing;
  float sigma;
};

__global__ void score_particles(const Pose* poses, float* weights, Beam beam, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float dx = beam.range * cosf(poses[i].theta + beam.bearing) - poses[i].x;
  float dy = beam.range * sinf(poses[i].theta + beam.bearing) - poses[i].y;
  weights[i] = expf(-(dx * dx + dy * dy) / (2.f * beam.sigma * beam.sigma)) + 1e-12f;
}

__global__ void draw_particles(const Pose* src, Pose* dst, const float* cdf, float u0, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float target = (i + u0) / n * cdf[n - 1];
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] < target) lo = mid + 1;
    else hi = mid;
  }
  dst[i] = src[lo];
}

class ParticleFilter {
 public:
  explicit ParticleFilter(int count) : n_(count) {
    GPU_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU_CHECK(cudaMalloc(&poses_, n_ * sizeof(Pose)));
    GPU_CHECK(cudaMalloc(&next_, n_ * sizeof(Pose)));
    GPU_CHECK(cudaMalloc(&weights_, n_ * sizeof(float)));
    GPU_CHECK(cudaMalloc(&cdf_, n_ * sizeof(float)));
    GPU_CHECK(cub::DeviceScan::InclusiveSum(nullptr, scan_bytes_, weights_, cdf_, n_));
    GPU_CHECK(cudaMalloc(&scan_temp_, scan_bytes_));
  }

  ~ParticleFilter() {
    cudaDeviceSynchronize();
    cudaFree(scan_temp_);
    cudaFree(cdf_);
    cudaFree(weights_);
    cudaFree(next_);
    cudaFree(poses_);
    cudaStreamDestroy(stream_);
  }

  ParticleFilter(const ParticleFilter&) = delete;
  ParticleFilter& operator=(const ParticleFilter&) = delete;

  void initialise(const std::vector<Pose>& prior) {
    GPU_CHECK(cudaMemcpyAsync(poses_, prior.data(), n_ * sizeof(Pose), cudaMemcpyHostToDevice, stream_));
    GPU_CHECK(cudaStreamSynchronize(stream_));
  }

  // One measurement update: weight, accumulate, resample.
  void update(const Beam& beam, float u0) {
    weigh(beam);
    accumulate();
    resample(u0);
  }

  std::vector<Pose> snapshot() const {
    std::vector<Pose> out(n_);
    GPU_CHECK(cudaMemcpyAsync(out.data(), poses_, n_ * sizeof(Pose), cudaMemcpyDeviceToHost, stream_));
    GPU_CHECK(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  int blocks() const { return (n_ + kThreads - 1) / kThreads; }

  void weigh(const Beam& beam) {
    score_particles<<<blocks(), kThreads, 0, stream_>>>(poses_, weights_, beam, n_);
    GPU_CHECK(cudaGetLastError());
  }

  void accumulate() {
    GPU_CHECK(cub::DeviceScan::InclusiveSum(scan_temp_, scan_bytes_, weights_, cdf_, n_));
  }

  void resample(float u0) {
    draw_particles<<<blocks(), kThreads, 0, stream_>>>(poses_, next_, cdf_, u0, n_);
    GPU_CHECK(cudaGetLastError());
    std::swap(poses_, next_);
  }

  static constexpr int kThreads = 256;
  int n_;
  cudaStream_t stream_{};
  Pose* poses_ = nullptr;
  Pose* next_ = nullptr;
  float* weights_ = nullptr;
  float* cdf_ = nullptr;
  void* scan_temp_ = nullptr;
  size_t scan_bytes_ = 0;
};

}  // namespace mcl

std::vector<mcl::Pose> localise(mcl::ParticleFilter& filter, const std::vector<mcl::Beam>& beams) {
  float u = 0.37f;
  for (const auto& beam : beams) {
    filter.update(beam, u);
    u = u * 1.618f - static_cast<int>(u * 1.618f);
  }
  return filter.snapshot();
}

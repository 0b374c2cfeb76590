// Particle filter back end of the indoor tracker: weighting and systematic resampling on the GPU.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/system/cuda/execution_policy.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tracker {

struct Pose {
  float x;
  float y;
  float heading;
};

inline void check(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
  }
}

__global__ void weigh_poses(const Pose* poses, int n, float anchor_x, float anchor_y, float range, float* weights) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float dx = poses[i].x - anchor_x;
  float dy = poses[i].y - anchor_y;
  float err = sqrtf(dx * dx + dy * dy) - range;
  weights[i] *= expf(-0.5f * err * err);
}

__global__ void draw_ancestors(const float* cdf, int n, float offset, int* ancestors) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float target = cdf[n - 1] * (i + offset) / n;
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] < target) lo = mid + 1;
    else hi = mid;
  }
  ancestors[i] = lo;
}

__global__ void gather_poses(const Pose* src, const int* ancestors, int n, Pose* dst, float* weights) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  dst[i] = src[ancestors[i]];
  weights[i] = 1.0f;
}

class ParticleFilter {
 public:
  explicit ParticleFilter(int count) : n_(count), ancestry_(count) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&poses_, n_ * sizeof(Pose)), "poses");
    check(cudaMalloc(&spare_, n_ * sizeof(Pose)), "spare poses");
    check(cudaMalloc(&weights_, n_ * sizeof(float)), "weights");
    check(cudaMalloc(&cdf_, n_ * sizeof(float)), "cdf");
    check(cudaMalloc(&ancestors_, n_ * sizeof(int)), "ancestors");
  }

  ~ParticleFilter() {
    cudaStreamSynchronize(stream_);
    cudaFree(ancestors_);
    cudaFree(cdf_);
    cudaFree(weights_);
    cudaFree(spare_);
    cudaFree(poses_);
    cudaStreamDestroy(stream_);
  }

  ParticleFilter(const ParticleFilter&) = delete;
  ParticleFilter& operator=(const ParticleFilter&) = delete;

  void reset(const std::vector<Pose>& prior) {
    std::vector<float> ones(n_, 1.0f);
    check(cudaMemcpyAsync(poses_, prior.data(), n_ * sizeof(Pose), cudaMemcpyHostToDevice, stream_), "prior");
    check(cudaMemcpyAsync(weights_, ones.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, stream_), "ones");
    check(cudaStreamSynchronize(stream_), "reset");
  }

  // One epoch: weighs the particles with the ranges of a beacon round and resamples them.
  void update(const std::vector<Pose>& anchors, const std::vector<float>& ranges, float offset) {
    for (size_t i = 0; i < anchors.size(); ++i) {
      weigh_poses<<<blocks(), kThreads, 0, stream_>>>(poses_, n_, anchors[i].x, anchors[i].y, ranges[i], weights_);
      check(cudaGetLastError(), "weigh_poses");
    }
    thrust::device_ptr<float> w(weights_);
    thrust::device_ptr<float> c(cdf_);
    thrust::inclusive_scan(thrust::cuda::par.on(stream_), w, w + n_, c);
    draw_ancestors<<<blocks(), kThreads, 0, stream_>>>(cdf_, n_, offset, ancestors_);
    gather_poses<<<blocks(), kThreads, 0, stream_>>>(poses_, ancestors_, n_, spare_, weights_);
    check(cudaGetLastError(), "gather_poses");
    std::swap(poses_, spare_);
  }

  const std::vector<int>& ancestry() {
    check(cudaMemcpyAsync(ancestry_.data(), ancestors_, n_ * sizeof(int), cudaMemcpyDeviceToHost, stream_), "ancestry");
    check(cudaStreamSynchronize(stream_), "ancestry");
    return ancestry_;
  }

 private:
  static constexpr int kThreads = 256;

  int blocks() const { return (n_ + kThreads - 1) / kThreads; }

  int n_;
  std::vector<int> ancestry_;
  cudaStream_t stream_ = nullptr;
  Pose* poses_ = nullptr;
  Pose* spare_ = nullptr;
  float* weights_ = nullptr;
  float* cdf_ = nullptr;
  int* ancestors_ = nullptr;
};

// Entry point used by the localisation thread; returns the share of particles that survived.
float run_epoch(ParticleFilter& filter, const std::vector<Pose>& anchors, const std::vector<float>& ranges, float u) {
  filter.update(anchors, ranges, u);
  const std::vector<int>& parents = filter.ancestry();
  size_t distinct = parents.empty() ? 0 : 1;
  for (size_t i = 1; i < parents.size(); ++i) distinct += parents[i] != parents[i - 1];
  return static_cast<float>(distinct) / parents.size();
}

}  // namespace tracker

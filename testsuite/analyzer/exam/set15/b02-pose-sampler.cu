#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Rigid protein docking: poses are re-sampled with a probability given by their score.

#define DOCK_CHECK(expr)                                                          \
  do {                                                                            \
    cudaError_t err_ = (expr);                                                    \
    if (err_ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : n_(n) { DOCK_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
};

__global__ void boltzmann_kernel(const float* score, float* weight, float beta, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weight[i] = expf(-beta * score[i]);
}

__global__ void draw_kernel(const float* cdf, int n, int* picked, int draws, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= draws) return;
  unsigned h = (seed ^ i) * 2654435761u;
  h ^= h >> 15;
  const float target = cdf[n - 1] * (h * 2.3283064e-10f);
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (cdf[mid] < target) lo = mid + 1; else hi = mid;
  }
  picked[i] = lo;
}

class PoseSampler {
 public:
  PoseSampler(int poses, cudaStream_t stream)
      : stream_(stream), poses_(poses), weight_(poses), cdf_(poses), temp_(temp_bytes(poses)) {}

  void sample(const float* score, float beta, int* picked, int draws, unsigned seed) {
    weigh(score, beta);
    build_cdf();
    draw_kernel<<<(draws + 127) / 128, 128, 0, stream_>>>(cdf_.get(), poses_, picked, draws, seed);
    DOCK_CHECK(cudaGetLastError());
  }

 private:
  static size_t temp_bytes(int poses) {
    size_t bytes = 0;
    float* none = nullptr;
    DOCK_CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none, poses));
    return bytes;
  }

  void weigh(const float* score, float beta) {
    boltzmann_kernel<<<(poses_ + 127) / 128, 128, 0, stream_>>>(score, weight_.get(), beta, poses_);
    DOCK_CHECK(cudaGetLastError());
  }

  void build_cdf() {
    size_t bytes = temp_.size();
    DOCK_CHECK(cub::DeviceScan::InclusiveSum(temp_.get(), bytes, weight_.get(), cdf_.get(), poses_));
  }

  cudaStream_t stream_;
  int poses_;
  DeviceArray<float> weight_;
  DeviceArray<float> cdf_;
  DeviceArray<unsigned char> temp_;
};

int main() {
  constexpr int kPoses = 1 << 18;
  constexpr int kDraws = 4096;
  cudaStream_t stream;
  DOCK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    std::vector<float> scores(kPoses);
    for (int i = 0; i < kPoses; ++i) scores[i] = 0.001f * ((i * 7919) % 5003);
    std::vector<int> picked(kDraws);

    DeviceArray<float> d_scores(kPoses);
    DeviceArray<int> d_picked(kDraws);
    DOCK_CHECK(cudaMemcpyAsync(d_scores.get(), scores.data(), kPoses * sizeof(float),
                               cudaMemcpyHostToDevice, stream));
    PoseSampler sampler(kPoses, stream);
    for (unsigned round = 0; round < 8; ++round) {
      sampler.sample(d_scores.get(), 0.5f + 0.25f * round, d_picked.get(), kDraws, 17u + round);
      DOCK_CHECK(cudaMemcpyAsync(picked.data(), d_picked.get(), kDraws * sizeof(int),
                                 cudaMemcpyDeviceToHost, stream));
      DOCK_CHECK(cudaStreamSynchronize(stream));
      std::printf("round %u: first pose %d\n", round, picked[0]);
    }
  }
  DOCK_CHECK(cudaStreamDestroy(stream));
  return 0;
}

#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

// Distribution of docking scores. The kernels run on ordinary (blocking) streams, the scan
// and the reset on the default stream, which takes its turn between them.

namespace {

void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <typename T>
struct Buffer {
  explicit Buffer(size_t count) : n(count) { ok(cudaMalloc(&p, n * sizeof(T))); }
  ~Buffer() { cudaFree(p); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* p = nullptr;
  size_t n;
};

__global__ void score_kernel(const float4* pose, float* score, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) score[i] = pose[i].x * pose[i].x + pose[i].y * pose[i].y + pose[i].z * pose[i].z;
}

__global__ void bin_kernel(const float* score, unsigned* bins, int n, int n_bins, float width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int b = static_cast<int>(score[i] / width);
  atomicAdd(&bins[b < n_bins ? b : n_bins - 1], 1u);
}

__global__ void quantile_kernel(const unsigned* cumulative, int n_bins, unsigned target, int* bin) {
  if (threadIdx.x != 0) return;
  int b = 0;
  while (b + 1 < n_bins && cumulative[b] < target) ++b;
  *bin = b;
}

}  // namespace

class ScoreStatistics {
 public:
  ScoreStatistics(int poses, int bins)
      : poses_(poses), n_bins_(bins), pose_(poses), score_(poses), bins_(bins), cumulative_(bins),
        bin_(1), temp_(scan_bytes(bins)) {
    ok(cudaStreamCreate(&stream_));
  }
  ~ScoreStatistics() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  ScoreStatistics(const ScoreStatistics&) = delete;
  ScoreStatistics& operator=(const ScoreStatistics&) = delete;

  int median_bin(const std::vector<float4>& poses, float width) {
    ok(cudaMemcpy(pose_.p, poses.data(), poses_ * sizeof(float4), cudaMemcpyHostToDevice));
    ok(cudaMemset(bins_.p, 0, n_bins_ * sizeof(unsigned)));
    const unsigned blocks = (poses_ + 255) / 256;
    score_kernel<<<blocks, 256, 0, stream_>>>(pose_.p, score_.p, poses_);
    bin_kernel<<<blocks, 256, 0, stream_>>>(score_.p, bins_.p, poses_, n_bins_, width);
    ok(cudaGetLastError());
    accumulate();
    quantile_kernel<<<1, 32, 0, stream_>>>(cumulative_.p, n_bins_, poses_ / 2, bin_.p);
    ok(cudaGetLastError());
    int host = 0;
    ok(cudaMemcpy(&host, bin_.p, sizeof(int), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  static size_t scan_bytes(int bins) {
    size_t bytes = 0;
    unsigned* none = nullptr;
    ok(cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none, bins));
    return bytes;
  }

  void accumulate() {
    size_t bytes = temp_.n;
    ok(cub::DeviceScan::InclusiveSum(temp_.p, bytes, bins_.p, cumulative_.p, n_bins_));
  }

  int poses_, n_bins_;
  cudaStream_t stream_ = nullptr;
  Buffer<float4> pose_;
  Buffer<float> score_;
  Buffer<unsigned> bins_;
  Buffer<unsigned> cumulative_;
  Buffer<int> bin_;
  Buffer<unsigned char> temp_;
};

int main() {
  constexpr int kPoses = 200000;
  ScoreStatistics stats(kPoses, 256);
  std::vector<float4> poses(kPoses);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < kPoses; ++i)
      poses[i] = make_float4(0.01f * (i % 700), 0.02f * (i % 300), 0.005f * (i % (90 + round)), 0.f);
    std::printf("round %d: median in bin %d\n", round, stats.median_bin(poses, 0.5f));
  }
  return 0;
}

#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <functional>
#include <stdexcept>

namespace mcmc {

inline void ck(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }

// Walkers of an affine-invariant sampler in one allocation: the first half is moved with
// partners of the second half, then the other way round. Proposals of both halves may be
// generated at any time.
struct Walkers {
  float* x = nullptr;         // n
  float* proposal = nullptr;  // n
  int n = 0;
  int half() const { return n / 2; }
};

__device__ inline float u01(unsigned k) {
  k = (k ^ 61) ^ (k >> 16); k *= 9; k ^= k >> 4; k *= 0x27d4eb2d; k ^= k >> 15;
  return (k >> 8) * (1.f / 16777216.f);
}

__global__ void propose(float* proposal, int offset, int count, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) proposal[offset + i] = powf(u01(seed + offset + i) + 0.5f, 2.f);
}

__global__ void stretch(float* x, const float* proposal, int offset, int other, int count, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float mine = x[offset + i];
  float partner = x[other + (i * 7 + seed) % count];
  float cand = partner + proposal[offset + i] * (mine - partner);
  if (logf(u01(seed * 31 + i) + 1e-9f) < 0.5f * (mine * mine - cand * cand)) x[offset + i] = cand;
}

class SplitSampler {
 public:
  explicit SplitSampler(int n) {
    w_.n = n;
    for (auto& s : lane_) ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& e : moved_) ck(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ck(cudaMalloc(&w_.x, sizeof(float) * n));
    ck(cudaMalloc(&w_.proposal, sizeof(float) * n));
    for (int side = 0; side < 2; ++side) {
      ck(cudaMemsetAsync(w_.x + begin(side), 0x3e, sizeof(float) * w_.half(), lane_[side]));
      ck(cudaEventRecord(moved_[side], lane_[side]));
    }
  }
  ~SplitSampler() {
    for (auto s : lane_) cudaStreamSynchronize(s);
    cudaFree(w_.proposal);
    cudaFree(w_.x);
    for (auto e : moved_) cudaEventDestroy(e);
    for (auto s : lane_) cudaStreamDestroy(s);
  }
  SplitSampler(const SplitSampler&) = delete;

  void run(int steps) {
    for (int t = 0; t < steps; ++t)
      for (int side = 0; side < 2; ++side) half_step(side, 1000u * t);
  }

  float mean() {
    float* host = nullptr;
    ck(cudaMallocHost(&host, sizeof(float) * w_.n));
    for (int side = 0; side < 2; ++side) {
      ck(cudaMemcpyAsync(host + begin(side), w_.x + begin(side), sizeof(float) * w_.half(), cudaMemcpyDeviceToHost, lane_[side]));
    }
    for (auto s : lane_) ck(cudaStreamSynchronize(s));
    double sum = 0;
    for (int i = 0; i < w_.n; ++i) sum += host[i];
    ck(cudaFreeHost(host));
    return static_cast<float>(sum / w_.n);
  }

 private:
  int begin(int side) const { return side * w_.half(); }

  void half_step(int side, unsigned seed) {
    cudaStream_t s = lane_[side];
    const int b = (w_.half() + 255) / 256;
    propose<<<b, 256, 0, s>>>(w_.proposal, begin(side), w_.half(), seed + side);
    ck(cudaStreamWaitEvent(s, moved_[1 - side], 0));
    stretch<<<b, 256, 0, s>>>(w_.x, w_.proposal, begin(side), begin(1 - side), w_.half(), seed + 5u + side);
    ck(cudaGetLastError());
    ck(cudaEventRecord(moved_[side], s));
  }

  Walkers w_;
  std::array<cudaStream_t, 2> lane_{};
  std::array<cudaEvent_t, 2> moved_{};
};

}  // namespace mcmc

int main() {
  mcmc::SplitSampler s(1 << 20);
  s.run(500);
  std::printf("mean %f\n", s.mean());
}

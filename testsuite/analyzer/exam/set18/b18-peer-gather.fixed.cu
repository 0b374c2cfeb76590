// Residual averaging over the GPUs of one host. Every rank reads the shares of
// all others through peer access and keeps its own copy of the mean.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define PEER_OK(c)                                                          \
  do {                                                                      \
    cudaError_t e = (c);                                                    \
    if (e != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #c, cudaGetErrorString(e));          \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

constexpr int kMaxRanks = 8;

struct Shares {
  const float* ptr[kMaxRanks];
  int count;
};

__global__ void localShare(const float* state, float* share, int n, float weight) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) share[i] = weight * state[i];
}

__global__ void averageShares(Shares shares, float* mean, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int r = 0; r < shares.count; ++r) acc += shares.ptr[r][i];
  mean[i] = acc / shares.count;
}

__global__ void relaxTowards(float* state, const float* mean, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] += rate * (mean[i] - state[i]);
}

class Rank {
 public:
  Rank(int device, int n) : device_(device), n_(n) {
    PEER_OK(cudaSetDevice(device_));
    PEER_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PEER_OK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    PEER_OK(cudaEventCreateWithFlags(&drained, cudaEventDisableTiming));
    for (float** p : {&state, &share, &mean}) PEER_OK(cudaMalloc(p, sizeof(float) * n_));
    PEER_OK(cudaMemsetAsync(state, 0, sizeof(float) * n_, stream));
  }
  ~Rank() {
    cudaSetDevice(device_);
    for (float* p : {state, share, mean}) cudaFree(p);
    cudaEventDestroy(drained);
    cudaEventDestroy(filled);
    cudaStreamDestroy(stream);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void use() const { PEER_OK(cudaSetDevice(device_)); }
  int blocks() const { return (n_ + 255) / 256; }
  int device() const { return device_; }

  cudaStream_t stream = nullptr;
  cudaEvent_t filled = nullptr;
  cudaEvent_t drained = nullptr;
  float* state = nullptr;
  float* share = nullptr;
  float* mean = nullptr;

 private:
  int device_, n_;
};

class PeerAverager {
 public:
  PeerAverager(int devices, int n) : n_(n) {
    for (int d = 0; d < devices; ++d) ranks_.push_back(std::make_unique<Rank>(d, n));
    for (auto& a : ranks_) {
      a->use();
      for (auto& b : ranks_)
        if (a != b) PEER_OK(cudaDeviceEnablePeerAccess(b->device(), 0));
    }
  }
  ~PeerAverager() { finish(); }

  void iterate(int rounds, float rate) {
    for (int r = 0; r < rounds; ++r) {
      publish(1.0f + 0.001f * r);
      gather();
      apply(rate);
    }
  }

  void finish() {
    for (auto& r : ranks_) PEER_OK(cudaStreamSynchronize(r->stream));
  }

 private:
  void publish(float weight) {
    for (auto& r : ranks_) {
      r->use();
      localShare<<<r->blocks(), 256, 0, r->stream>>>(r->state, r->share, n_, weight);
      PEER_OK(cudaGetLastError());
      PEER_OK(cudaEventRecord(r->filled, r->stream));
    }
  }

  void gather() {
    Shares shares{};
    for (auto& r : ranks_) shares.ptr[shares.count++] = r->share;
    for (auto& r : ranks_) {
      r->use();
      for (auto& peer : ranks_) PEER_OK(cudaStreamWaitEvent(r->stream, peer->filled, 0));
      averageShares<<<r->blocks(), 256, 0, r->stream>>>(shares, r->mean, n_);
      PEER_OK(cudaGetLastError());
      PEER_OK(cudaEventRecord(r->drained, r->stream));
    }
    for (auto& r : ranks_) {
      r->use();
      for (auto& peer : ranks_) PEER_OK(cudaStreamWaitEvent(r->stream, peer->drained, 0));
    }
  }

  void apply(float rate) {
    for (auto& r : ranks_) {
      r->use();
      relaxTowards<<<r->blocks(), 256, 0, r->stream>>>(r->state, r->mean, n_, rate);
      PEER_OK(cudaGetLastError());
    }
  }

  int n_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

int main() {
  int devices = 0;
  PEER_OK(cudaGetDeviceCount(&devices));
  PeerAverager averager(devices < kMaxRanks ? devices : kMaxRanks, 1 << 20);
  averager.iterate(100, 0.1f);
  averager.finish();
  return 0;
}

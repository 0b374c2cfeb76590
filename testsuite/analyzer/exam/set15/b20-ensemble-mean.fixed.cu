#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

// Ensemble precipitation nowcast from radar mosaics: each GPU advances its members, all
// GPUs need the ensemble mean after every step and read the peers' sums directly.

#define WX_CHECK(call)                                                                  \
  do {                                                                                  \
    if (cudaError_t rc__ = (call); rc__ != cudaSuccess) {                               \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc__)); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kMaxRanks = 8;

struct PeerTable {
  const float* partial[kMaxRanks];
  int ranks;
};

__global__ void forecast_kernel(const float* mean, float* partial, int cells, int rank, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  const float upstream = mean[i > 0 ? i - 1 : cells - 1];
  partial[i] = 0.9f * upstream + 0.1f * mean[i] + 1e-3f * ((i * 17 + rank * 5 + step) % 11);
}

__global__ void mean_kernel(PeerTable peers, float* mean, int cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  float sum = 0.f;
  for (int r = 0; r < peers.ranks; ++r) sum += peers.partial[r][i];
  mean[i] = sum / peers.ranks;
}

class Rank {
 public:
  Rank(int device, int cells) : device_(device), cells_(cells) {
    use();
    WX_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    WX_CHECK(cudaEventCreateWithFlags(&published_, cudaEventDisableTiming));
    WX_CHECK(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
    WX_CHECK(cudaMalloc(&partial_, cells_ * sizeof(float)));
    WX_CHECK(cudaMalloc(&mean_, cells_ * sizeof(float)));
    WX_CHECK(cudaMemsetAsync(mean_, 0, cells_ * sizeof(float), stream_));
  }
  ~Rank() {
    cudaSetDevice(device_);
    cudaFree(mean_);
    cudaFree(partial_);
    cudaEventDestroy(consumed_);
    cudaEventDestroy(published_);
    cudaStreamDestroy(stream_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void use() const { WX_CHECK(cudaSetDevice(device_)); }

  void allow(const Rank& peer) const {
    if (peer.device_ == device_) return;
    use();
    const cudaError_t rc = cudaDeviceEnablePeerAccess(peer.device_, 0);
    if (rc != cudaErrorPeerAccessAlreadyEnabled) WX_CHECK(rc);
  }

  void forecast(int step) {
    use();
    forecast_kernel<<<blocks(), 256, 0, stream_>>>(mean_, partial_, cells_, device_, step);
    WX_CHECK(cudaGetLastError());
    WX_CHECK(cudaEventRecord(published_, stream_));
  }

  void average(const PeerTable& peers) {
    use();
    mean_kernel<<<blocks(), 256, 0, stream_>>>(peers, mean_, cells_);
    WX_CHECK(cudaGetLastError());
    WX_CHECK(cudaEventRecord(consumed_, stream_));
  }

  void wait_for(cudaEvent_t e) { WX_CHECK(cudaStreamWaitEvent(stream_, e, 0)); }
  cudaEvent_t published() const { return published_; }
  cudaEvent_t consumed() const { return consumed_; }
  const float* partial() const { return partial_; }

  std::vector<float> download() const {
    use();
    std::vector<float> host(cells_);
    WX_CHECK(cudaMemcpyAsync(host.data(), mean_, cells_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    WX_CHECK(cudaStreamSynchronize(stream_));
    return host;
  }

  void drain() const {
    use();
    WX_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  unsigned blocks() const { return (cells_ + 255) / 256; }

  int device_, cells_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t published_ = nullptr;
  cudaEvent_t consumed_ = nullptr;
  float* partial_ = nullptr;
  float* mean_ = nullptr;
};

class Ensemble {
 public:
  Ensemble(int devices, int cells) {
    table_.ranks = devices < kMaxRanks ? devices : kMaxRanks;
    for (int d = 0; d < table_.ranks; ++d) ranks_.push_back(std::make_unique<Rank>(d, cells));
    for (int d = 0; d < table_.ranks; ++d) {
      table_.partial[d] = ranks_[d]->partial();
      for (auto& peer : ranks_) ranks_[d]->allow(*peer);
    }
  }
  ~Ensemble() {
    for (auto& r : ranks_) r->drain();
  }

  void step(int number) {
    for (auto& r : ranks_) r->forecast(number);
    barrier(&Rank::published);
    for (auto& r : ranks_) r->average(table_);
    barrier(&Rank::consumed);
  }

  std::vector<float> mean() const { return ranks_.front()->download(); }

 private:
  void barrier(cudaEvent_t (Rank::*event)() const) {
    for (auto& waiting : ranks_)
      for (auto& other : ranks_)
        if (waiting != other) waiting->wait_for(((*other).*event)());
  }

  PeerTable table_{};
  std::vector<std::unique_ptr<Rank>> ranks_;
};

int main() {
  int devices = 0;
  WX_CHECK(cudaGetDeviceCount(&devices));
  Ensemble ensemble(devices, 1 << 20);
  for (int s = 0; s < 48; ++s) ensemble.step(s);
  std::printf("mean[0] = %f\n", ensemble.mean()[0]);
  return 0;
}

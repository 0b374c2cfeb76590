// ring-mixer: every GPU holds one block of a lattice; after each sweep a block
// is passed to the next GPU of the ring. Edges between the GPUs are events only.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RM(call)                                                                       \
  do {                                                                                 \
    const cudaError_t rc_ = (call);                                                    \
    if (rc_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "ring-mixer:%d: %s\n", __LINE__, cudaGetErrorString(rc_));  \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr std::size_t kSites = std::size_t{1} << 22;
constexpr std::size_t kBytes = kSites * sizeof(float);

__global__ void seed_block(float* block, float value) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < kSites) block[i] = value + 1e-6f * static_cast<float>(i % 1000);
}

__global__ void mix(float* block, const float* inbox, float share) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < kSites) block[i] = (1.f - share) * block[i] + share * inbox[i];
}

struct Station {
  int device = 0;
  float* block = nullptr;
  float* inbox = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t inbox_free = nullptr;
  cudaEvent_t shipped = nullptr;
};

class Ring {
 public:
  explicit Ring(int gpus) : stations_(gpus) {
    for (int d = 0; d < gpus; ++d) {
      Station& s = stations_[d];
      s.device = d;
      RM(cudaSetDevice(d));
      RM(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
      RM(cudaEventCreateWithFlags(&s.inbox_free, cudaEventDisableTiming));
      RM(cudaEventCreateWithFlags(&s.shipped, cudaEventDisableTiming));
      RM(cudaMalloc(&s.block, kBytes));
      RM(cudaMalloc(&s.inbox, kBytes));
      seed_block<<<kSites / 256, 256, 0, s.stream>>>(s.block, static_cast<float>(d));
      RM(cudaGetLastError());
      RM(cudaMemsetAsync(s.inbox, 0, kBytes, s.stream));
      RM(cudaEventRecord(s.inbox_free, s.stream));
    }
  }
  ~Ring() {
    wait_all();
    for (Station& s : stations_) {
      RM(cudaSetDevice(s.device));
      RM(cudaFree(s.block));
      RM(cudaFree(s.inbox));
      RM(cudaEventDestroy(s.inbox_free));
      RM(cudaEventDestroy(s.shipped));
      RM(cudaStreamDestroy(s.stream));
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void sweep(float share) {
    for (Station& s : stations_) ship(s, next(s));
    for (Station& s : stations_) absorb(s, previous(s), share);
  }

  double mean(int device) {
    Station& s = stations_[device];
    std::vector<float> host(kSites);
    RM(cudaSetDevice(s.device));
    RM(cudaMemcpyAsync(host.data(), s.block, kBytes, cudaMemcpyDeviceToHost, s.stream));
    RM(cudaStreamSynchronize(s.stream));
    double sum = 0.0;
    for (float v : host) sum += v;
    return sum / static_cast<double>(kSites);
  }

 private:
  Station& next(const Station& s) { return stations_[(s.device + 1) % stations_.size()]; }
  Station& previous(const Station& s) { return stations_[(s.device + stations_.size() - 1) % stations_.size()]; }

  // The sender copies on its own stream, once the receiver has emptied its inbox.
  void ship(Station& from, const Station& to) {
    RM(cudaSetDevice(from.device));
    RM(cudaStreamWaitEvent(from.stream, to.inbox_free, 0));
    RM(cudaMemcpyPeerAsync(to.inbox, to.device, from.block, from.device, kBytes, from.stream));
    RM(cudaEventRecord(from.shipped, from.stream));
  }

  void absorb(Station& s, const Station& sender, float share) {
    RM(cudaSetDevice(s.device));
    RM(cudaStreamWaitEvent(s.stream, sender.shipped, 0));
    mix<<<kSites / 256, 256, 0, s.stream>>>(s.block, s.inbox, share);
    RM(cudaGetLastError());
    RM(cudaEventRecord(s.inbox_free, s.stream));
  }

  void wait_all() {
    for (Station& s : stations_) {
      RM(cudaSetDevice(s.device));
      RM(cudaStreamSynchronize(s.stream));
    }
  }

  std::vector<Station> stations_;
};

int main(int argc, char** argv) {
  const int sweeps = argc > 1 ? std::atoi(argv[1]) : 50;
  int gpus = 0;
  RM(cudaGetDeviceCount(&gpus));
  Ring ring(gpus);
  for (int i = 0; i < sweeps; ++i) ring.sweep(0.25f);
  for (int d = 0; d < gpus; ++d) std::printf("gpu %d: mean %.6f\n", d, ring.mean(d));
  return 0;
}

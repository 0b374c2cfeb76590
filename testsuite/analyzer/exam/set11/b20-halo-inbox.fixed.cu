// Two-GPU finite-difference wave propagation. Each GPU adds the contribution
// of its neighbour, which arrives in an inbox that is cleared every step.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define RT(call)                                                                     \
  do {                                                                               \
    const cudaError_t rt_ = (call);                                                  \
    if (rt_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rt_)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

namespace fd {

class OnDevice {
 public:
  explicit OnDevice(int device) {
    RT(cudaGetDevice(&previous_));
    RT(cudaSetDevice(device));
  }
  ~OnDevice() { RT(cudaSetDevice(previous_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_ = 0;
};

__global__ void propagate(float* field, float* edge, int n, int halo) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    field[i] *= 0.999f;
    if (i < halo) edge[i] = field[i];
  }
}

__global__ void add_inbox(float* field, const float* inbox, int halo) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < halo) field[i] += inbox[i];
}

class Domain {
 public:
  Domain(int device, int n, int halo) : device_(device), n_(n), halo_(halo) {
    const OnDevice on(device_);
    RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    RT(cudaEventCreateWithFlags(&inbox_free_, cudaEventDisableTiming));
    RT(cudaMalloc(reinterpret_cast<void**>(&field_), sizeof(float) * n_));
    RT(cudaMalloc(reinterpret_cast<void**>(&edge_), sizeof(float) * halo_));
    RT(cudaMalloc(reinterpret_cast<void**>(&inbox_), sizeof(float) * halo_));
    RT(cudaMemsetAsync(field_, 0, sizeof(float) * n_, stream_));
    RT(cudaMemsetAsync(inbox_, 0, sizeof(float) * halo_, stream_));
    RT(cudaStreamSynchronize(stream_));
  }
  ~Domain() {
    const OnDevice on(device_);
    RT(cudaStreamSynchronize(stream_));
    RT(cudaFree(field_));
    RT(cudaFree(edge_));
    RT(cudaFree(inbox_));
    RT(cudaEventDestroy(sent_));
    RT(cudaEventDestroy(inbox_free_));
    RT(cudaStreamDestroy(stream_));
  }
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  /// Prepares the inbox and computes the outgoing edge.
  void advance() {
    const OnDevice on(device_);
    RT(cudaMemsetAsync(inbox_, 0, sizeof(float) * halo_, stream_));
    RT(cudaEventRecord(inbox_free_, stream_));
    propagate<<<(n_ + 255) / 256, 256, 0, stream_>>>(field_, edge_, n_, halo_);
    RT(cudaGetLastError());
  }

  /// Writes the first `count` edge values into the inbox of `peer`.
  void push(const Domain& peer, int count) {
    const OnDevice on(device_);
    RT(cudaStreamWaitEvent(stream_, peer.inbox_free_, 0));
    RT(cudaMemcpyPeerAsync(peer.inbox_, peer.device_, edge_, device_, sizeof(float) * count, stream_));
    RT(cudaEventRecord(sent_, stream_));
  }

  void receive(const Domain& peer) {
    const OnDevice on(device_);
    RT(cudaStreamWaitEvent(stream_, peer.sent_, 0));
    add_inbox<<<(halo_ + 127) / 128, 128, 0, stream_>>>(field_, inbox_, halo_);
    RT(cudaGetLastError());
  }

  void wait() const { RT(cudaStreamSynchronize(stream_)); }

 private:
  int device_, n_, halo_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_ = nullptr;
  cudaEvent_t inbox_free_ = nullptr;
  float *field_ = nullptr, *edge_ = nullptr, *inbox_ = nullptr;
};

}  // namespace fd

int main() {
  int devices = 0;
  RT(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::puts("two devices are needed");
    return 0;
  }
  constexpr int kCells = 1 << 22;
  constexpr int kHalo = 1 << 14;
  std::array<std::unique_ptr<fd::Domain>, 2> domains;
  for (int d = 0; d < 2; ++d) domains[d] = std::make_unique<fd::Domain>(d, kCells, kHalo);
  for (int step = 0; step < 100; ++step) {
    const int active = step % 2 ? kHalo : kHalo / 2;
    for (auto& d : domains) d->advance();
    domains[0]->push(*domains[1], active);
    domains[1]->push(*domains[0], active);
    domains[0]->receive(*domains[1]);
    domains[1]->receive(*domains[0]);
  }
  for (auto& d : domains) d->wait();
  return 0;
}

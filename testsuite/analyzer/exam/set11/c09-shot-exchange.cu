// Two-GPU reverse-time migration: every GPU owns half the depth range and
// sends its boundary layer into an inbox of the neighbour.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define RT(call)                                                                        \
  do {                                                                                  \
    const cudaError_t rt_ = (call);                                                     \
    if (rt_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rt_)); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

namespace rtm {

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

__global__ void interior(float* field, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) field[i] *= 0.999f;
}

__global__ void boundary(float* layer, const float* inbox, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) layer[i] = 0.5f * (layer[i] + inbox[i]);
}

class HalfSpace {
 public:
  HalfSpace(int device, int n, int layer) : device_(device), n_(n), layer_(layer) {
    const OnDevice on(device_);
    for (auto* s : {&compute_, &comm_}) RT(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (auto* e : {&cleared_, &computed_, &sent_}) RT(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    RT(cudaMalloc(reinterpret_cast<void**>(&field_), sizeof(float) * n_));
    RT(cudaMalloc(reinterpret_cast<void**>(&inbox_), sizeof(float) * layer_));
    RT(cudaMemsetAsync(field_, 0, sizeof(float) * n_, compute_));
    RT(cudaStreamSynchronize(compute_));
  }
  ~HalfSpace() {
    const OnDevice on(device_);
    wait();
    RT(cudaFree(field_));
    RT(cudaFree(inbox_));
    for (auto e : {cleared_, computed_, sent_}) RT(cudaEventDestroy(e));
    for (auto s : {compute_, comm_}) RT(cudaStreamDestroy(s));
  }
  HalfSpace(const HalfSpace&) = delete;
  HalfSpace& operator=(const HalfSpace&) = delete;

  void advance() {
    const OnDevice on(device_);
    RT(cudaMemsetAsync(inbox_, 0, sizeof(float) * layer_, compute_));
    RT(cudaEventRecord(cleared_, compute_));
    RT(cudaStreamWaitEvent(compute_, sent_, 0));
    interior<<<(n_ + 255) / 256, 256, 0, compute_>>>(field_, n_);
    RT(cudaGetLastError());
    RT(cudaEventRecord(computed_, compute_));
  }

  void send(const HalfSpace& peer) {
    const OnDevice on(device_);
    RT(cudaStreamWaitEvent(comm_, computed_, 0));
    RT(cudaStreamWaitEvent(comm_, peer.cleared_, 0));
    RT(cudaMemcpyPeerAsync(peer.inbox_, peer.device_, field_, device_, sizeof(float) * layer_, comm_));
    RT(cudaEventRecord(sent_, comm_));
  }

  void receive(const HalfSpace& peer) {
    const OnDevice on(device_);
    RT(cudaStreamWaitEvent(compute_, peer.sent_, 0));
    RT(cudaStreamWaitEvent(compute_, sent_, 0));
    boundary<<<(layer_ + 127) / 128, 128, 0, compute_>>>(field_, inbox_, layer_);
    RT(cudaGetLastError());
  }

  void wait() const {
    RT(cudaStreamSynchronize(comm_));
    RT(cudaStreamSynchronize(compute_));
  }

 private:
  int device_, n_, layer_;
  cudaStream_t compute_ = nullptr, comm_ = nullptr;
  cudaEvent_t cleared_ = nullptr, computed_ = nullptr, sent_ = nullptr;
  float *field_ = nullptr, *inbox_ = nullptr;
};

}  // namespace rtm

int main() {
  int devices = 0;
  RT(cudaGetDeviceCount(&devices));
  if (devices < 2) return 0;
  std::array<std::unique_ptr<rtm::HalfSpace>, 2> halves;
  for (int d = 0; d < 2; ++d) halves[d] = std::make_unique<rtm::HalfSpace>(d, 1 << 22, 1 << 14);
  for (int step = 0; step < 200; ++step) {
    for (auto& h : halves) h->advance();
    halves[0]->send(*halves[1]);
    halves[1]->send(*halves[0]);
    halves[0]->receive(*halves[1]);
    halves[1]->receive(*halves[0]);
  }
  for (auto& h : halves) h->wait();
  return 0;
}

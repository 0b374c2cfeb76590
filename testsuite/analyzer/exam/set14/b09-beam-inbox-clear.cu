// Massive-MIMO beamformer over two devices: each device beamforms its half of
// the antennas and pushes partial sums into the inbox of its neighbour.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define MM_CU(x)                                                                    \
  do {                                                                              \
    cudaError_t e = (x);                                                            \
    if (e != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

constexpr int kCarriers = 1 << 16;

__global__ void beamform(const float2* samples, float2* partial, int n, float phase) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float c = cosf(phase * i), s = sinf(phase * i);
  partial[i] = make_float2(samples[i].x * c - samples[i].y * s, samples[i].x * s + samples[i].y * c);
}

__global__ void pushPartial(const float2* partial, float2* remoteInbox, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&remoteInbox[i].x, partial[i].x);
    atomicAdd(&remoteInbox[i].y, partial[i].y);
  }
}

__global__ void combine(const float2* partial, const float2* inbox, float2* beam, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) beam[i] = make_float2(partial[i].x + inbox[i].x, partial[i].y + inbox[i].y);
}

class Unit {
 public:
  explicit Unit(int device) : device_(device) {
    MM_CU(cudaSetDevice(device_));
    MM_CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MM_CU(cudaEventCreateWithFlags(&pushed_, cudaEventDisableTiming));
    MM_CU(cudaEventCreateWithFlags(&cleared_, cudaEventDisableTiming));
    for (float2** p : {&samples_, &partial_, &inbox_, &beam_}) {
      MM_CU(cudaMalloc(reinterpret_cast<void**>(p), kCarriers * sizeof(float2)));
      MM_CU(cudaMemset(*p, 0, kCarriers * sizeof(float2)));
    }
    MM_CU(cudaDeviceSynchronize());
  }
  ~Unit() {
    cudaSetDevice(device_);
    for (float2* p : {samples_, partial_, inbox_, beam_}) cudaFree(p);
    cudaEventDestroy(pushed_);
    cudaEventDestroy(cleared_);
    cudaStreamDestroy(stream_);
  }

  void enablePeer(int other) {
    MM_CU(cudaSetDevice(device_));
    MM_CU(cudaDeviceEnablePeerAccess(other, 0));
  }

  void clearInbox() {
    MM_CU(cudaSetDevice(device_));
    MM_CU(cudaMemsetAsync(inbox_, 0, kCarriers * sizeof(float2), stream_));
    MM_CU(cudaEventRecord(cleared_, stream_));
  }

  void computeAndPush(Unit& peer, float phase) {
    MM_CU(cudaSetDevice(device_));
    beamform<<<kCarriers / 256, 256, 0, stream_>>>(samples_, partial_, kCarriers, phase);
    pushPartial<<<kCarriers / 256, 256, 0, stream_>>>(partial_, peer.inbox_, kCarriers);
    MM_CU(cudaEventRecord(pushed_, stream_));
  }

  void receive(Unit& peer) {
    MM_CU(cudaSetDevice(device_));
    MM_CU(cudaStreamWaitEvent(stream_, peer.pushed_, 0));
    combine<<<kCarriers / 256, 256, 0, stream_>>>(partial_, inbox_, beam_, kCarriers);
  }

  void finish() {
    MM_CU(cudaSetDevice(device_));
    MM_CU(cudaStreamSynchronize(stream_));
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t pushed_ = nullptr;
  cudaEvent_t cleared_ = nullptr;
  float2* samples_ = nullptr;
  float2* partial_ = nullptr;
  float2* inbox_ = nullptr;
  float2* beam_ = nullptr;
};

class BeamArray {
 public:
  BeamArray() {
    for (int d = 0; d < 2; ++d) units_[d] = std::make_unique<Unit>(d);
    units_[0]->enablePeer(1);
    units_[1]->enablePeer(0);
  }

  void slot(float phase) {
    for (auto& u : units_) u->clearInbox();
    units_[0]->computeAndPush(*units_[1], phase);
    units_[1]->computeAndPush(*units_[0], phase);
    units_[0]->receive(*units_[1]);
    units_[1]->receive(*units_[0]);
  }

  void finish() {
    for (auto& u : units_) u->finish();
  }

 private:
  std::array<std::unique_ptr<Unit>, 2> units_;
};

int main() {
  BeamArray array;
  for (int t = 0; t < 14; ++t) array.slot(0.01f * t);
  array.finish();
  std::puts("slot done");
  return 0;
}

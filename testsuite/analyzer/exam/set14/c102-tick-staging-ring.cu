// Market data: ticks are batched in a ring of pinned slots and uploaded while
// the host fills the next slot.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define MKT(x)                                                              \
  do {                                                                      \
    cudaError_t e = (x);                                                    \
    if (e != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e));          \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

struct Tick {
  int instrument;
  float price;
  float size;
};

__global__ void vwap(const Tick* ticks, int n, float* notional, float* volume, int instruments) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = ticks[i].instrument % instruments;
  atomicAdd(&notional[k], ticks[i].price * ticks[i].size);
  atomicAdd(&volume[k], ticks[i].size);
}

class TickRing {
 public:
  static constexpr int kSlots = 3;
  static constexpr int kBatch = 4096;

  TickRing() {
    for (auto& s : slots_) {
      MKT(cudaMallocHost(reinterpret_cast<void**>(&s.host), kBatch * sizeof(Tick)));
      MKT(cudaMalloc(reinterpret_cast<void**>(&s.device), kBatch * sizeof(Tick)));
      MKT(cudaEventCreateWithFlags(&s.read, cudaEventDisableTiming));
    }
  }
  ~TickRing() {
    for (auto& s : slots_) {
      cudaEventSynchronize(s.read);
      cudaEventDestroy(s.read);
      cudaFree(s.device);
      cudaFreeHost(s.host);
    }
  }

  Tick* begin() {
    Slot& s = slots_[head_];
    MKT(cudaEventSynchronize(s.read));
    return s.host;
  }

  const Tick* commit(int n, cudaStream_t stream) {
    Slot& s = slots_[head_];
    MKT(cudaMemcpyAsync(s.device, s.host, n * sizeof(Tick), cudaMemcpyHostToDevice, stream));
    return s.device;
  }

  void end(cudaStream_t stream) {
    MKT(cudaEventRecord(slots_[head_].read, stream));
    head_ = (head_ + 1) % kSlots;
  }

 private:
  struct Slot {
    Tick* host = nullptr;
    Tick* device = nullptr;
    cudaEvent_t read = nullptr;
  };
  std::array<Slot, kSlots> slots_;
  int head_ = 0;
};

int main() {
  constexpr int kInstruments = 512;
  cudaStream_t stream = nullptr;
  float* sums = nullptr;
  MKT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MKT(cudaMalloc(reinterpret_cast<void**>(&sums), 2 * kInstruments * sizeof(float)));
  MKT(cudaMemsetAsync(sums, 0, 2 * kInstruments * sizeof(float), stream));
  float result[2 * kInstruments];
  {
    TickRing ring;
    for (int batch = 0; batch < 200; ++batch) {
      Tick* t = ring.begin();
      for (int i = 0; i < TickRing::kBatch; ++i) t[i] = Tick{i + batch, 100.f + i % 7, 1.f + i % 3};
      const Tick* d = ring.commit(TickRing::kBatch, stream);
      vwap<<<TickRing::kBatch / 256, 256, 0, stream>>>(d, TickRing::kBatch, sums, sums + kInstruments,
                                                     kInstruments);
      MKT(cudaGetLastError());
      ring.end(stream);
    }
    MKT(cudaMemcpyAsync(result, sums, sizeof(result), cudaMemcpyDeviceToHost, stream));
    MKT(cudaStreamSynchronize(stream));
  }
  std::printf("vwap[0] = %f\n", result[0] / result[kInstruments]);
  MKT(cudaFree(sums));
  MKT(cudaStreamDestroy(stream));
  return 0;
}

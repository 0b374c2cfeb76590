// Streams market ticks to the GPU through a small ring of page-locked buffers.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

struct Tick { int symbol; float price; float size; };

__global__ void vwap_update(const Tick* t, int n, float* notional, float* volume, int symbols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int s = t[i].symbol % symbols;
  atomicAdd(&notional[s], t[i].price * t[i].size);
  atomicAdd(&volume[s], t[i].size);
}

class UploadRing {
 public:
  UploadRing(int depth, int ticks_per_slot, cudaStream_t s) : per_slot_(ticks_per_slot), stream_(s), slots_(depth) {
    for (Slot& x : slots_) {
      CK(cudaMallocHost(&x.host, sizeof(Tick) * per_slot_));
      CK(cudaMalloc(&x.device, sizeof(Tick) * per_slot_));
      CK(cudaEventCreateWithFlags(&x.uploaded, cudaEventDisableTiming));
    }
  }
  ~UploadRing() {
    cudaStreamSynchronize(stream_);
    for (Slot& x : slots_) {
      cudaEventDestroy(x.uploaded);
      cudaFree(x.device);
      cudaFreeHost(x.host);
    }
  }
  UploadRing(const UploadRing&) = delete;

  // Writable host storage of the next slot.
  Tick* begin() {
    Slot& x = slots_[head_];
    CK(cudaEventSynchronize(x.uploaded));
    return x.host;
  }
  // Sends the slot obtained from begin() and returns where it lands.
  const Tick* commit(int n) {
    Slot& x = slots_[head_];
    CK(cudaMemcpyAsync(x.device, x.host, sizeof(Tick) * n, cudaMemcpyHostToDevice, stream_));
    CK(cudaEventRecord(x.uploaded, stream_));
    head_ = (head_ + 1) % slots_.size();
    return x.device;
  }

 private:
  struct Slot {
    Tick* host = nullptr;
    Tick* device = nullptr;
    cudaEvent_t uploaded = nullptr;
  };
  int per_slot_;
  cudaStream_t stream_;
  std::vector<Slot> slots_;
  size_t head_ = 0;
};

static int read_feed(Tick* dst, int max, unsigned seq) {
  for (int i = 0; i < max; ++i) {
    unsigned h = (seq * 7919u + i) * 2654435761u;
    dst[i] = {static_cast<int>(h >> 20), 50.f + (h & 1023) * 0.01f, 1.f + (h & 7)};
  }
  return max;
}

int main() {
  const int symbols = 4096, chunk = 1 << 15, chunks = 400;
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float* acc = nullptr;
  CK(cudaMalloc(&acc, sizeof(float) * 2 * symbols));
  CK(cudaMemsetAsync(acc, 0, sizeof(float) * 2 * symbols, s));
  std::vector<float> out(2 * symbols);
  {
    UploadRing ring(3, chunk, s);
    for (int c = 0; c < chunks; ++c) {
      int n = read_feed(ring.begin(), chunk, c);
      const Tick* d = ring.commit(n);
      vwap_update<<<(n + 255) / 256, 256, 0, s>>>(d, n, acc, acc + symbols, symbols);
      CK(cudaGetLastError());
    }
    CK(cudaMemcpyAsync(out.data(), acc, out.size() * sizeof(float), cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
  }
  std::printf("vwap[0] = %f\n", out[0] / out[symbols]);
  CK(cudaFree(acc));
  CK(cudaStreamDestroy(s));
}

// Live captioning front end: audio chunks go through two pinned halves and
// two device halves; the spectral stage runs on its own stream.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECKED(call)                                                                 \
  if (cudaError_t err = (call); err != cudaSuccess) {                                 \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
    std::exit(1);                                                                     \
  }

__global__ void power(const float* chunk, int n, float* levels, int slot) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0.f;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&sum, chunk[i] * chunk[i]);
  __syncthreads();
  if (threadIdx.x == 0) levels[slot] = sum / n;
}

class ChunkRing {
 public:
  explicit ChunkRing(int samples) : samples_(samples) {
    CHECKED(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    CHECKED(cudaStreamCreateWithFlags(&spectral_, cudaStreamNonBlocking));
    for (auto& h : halves_) {
      CHECKED(cudaMallocHost(reinterpret_cast<void**>(&h.host), bytes()));
      CHECKED(cudaMalloc(reinterpret_cast<void**>(&h.device), bytes()));
      CHECKED(cudaEventCreateWithFlags(&h.uploaded, cudaEventDisableTiming));
      CHECKED(cudaEventCreateWithFlags(&h.drained, cudaEventDisableTiming));
    }
  }
  ~ChunkRing() {
    CHECKED(cudaStreamSynchronize(upload_));
    CHECKED(cudaStreamSynchronize(spectral_));
    for (auto& h : halves_) {
      CHECKED(cudaFreeHost(h.host));
      CHECKED(cudaFree(h.device));
      CHECKED(cudaEventDestroy(h.uploaded));
      CHECKED(cudaEventDestroy(h.drained));
    }
    CHECKED(cudaStreamDestroy(upload_));
    CHECKED(cudaStreamDestroy(spectral_));
  }
  ChunkRing(const ChunkRing&) = delete;
  ChunkRing& operator=(const ChunkRing&) = delete;

  template <typename Source>
  void push(Source&& source, float* levels, int slot) {
    Half& half = halves_[index_];
    CHECKED(cudaEventSynchronize(half.uploaded));
    for (int i = 0; i < samples_; ++i) half.host[i] = source(i);
    upload(half);
    analyse(half, levels, slot);
    index_ ^= 1;
  }

  void clear() { pushed_ = 0; }
  int pushed() const { return pushed_; }
  void wait() { CHECKED(cudaStreamSynchronize(spectral_)); }

 private:
  struct Half {
    float* host = nullptr;
    float* device = nullptr;
    cudaEvent_t uploaded = nullptr;
    cudaEvent_t drained = nullptr;
  };

  std::size_t bytes() const { return sizeof(float) * samples_; }

  void upload(Half& half) {
    CHECKED(cudaStreamWaitEvent(upload_, half.drained, 0));
    CHECKED(cudaMemcpyAsync(half.device, half.host, bytes(), cudaMemcpyHostToDevice, upload_));
    CHECKED(cudaEventRecord(half.uploaded, upload_));
  }

  void analyse(Half& half, float* levels, int slot) {
    CHECKED(cudaStreamWaitEvent(spectral_, half.uploaded, 0));
    power<<<1, 256, 0, spectral_>>>(half.device, samples_, levels, slot);
    CHECKED(cudaGetLastError());
    CHECKED(cudaEventRecord(half.drained, spectral_));
    ++pushed_;
  }

  int samples_;
  int index_ = 0;
  int pushed_ = 0;
  Half halves_[2];
  cudaStream_t upload_ = nullptr;
  cudaStream_t spectral_ = nullptr;
};

int main() {
  constexpr int kChunks = 200;
  float* levels = nullptr;
  CHECKED(cudaMalloc(reinterpret_cast<void**>(&levels), sizeof(float) * kChunks));
  float loudest = 0.f;
  {
    ChunkRing ring(1600);
    for (int c = 0; c < kChunks; ++c) {
      ring.push([c](int i) { return std::sin(0.01f * i * (c + 1)); }, levels, c);
      if (ring.pushed() == 50) ring.clear();
    }
    ring.wait();
    float host[kChunks];
    CHECKED(cudaMemcpy(host, levels, sizeof(host), cudaMemcpyDeviceToHost));
    for (float v : host) loudest = v > loudest ? v : loudest;
  }
  std::printf("loudest %f\n", loudest);
  CHECKED(cudaFree(levels));
  return 0;
}

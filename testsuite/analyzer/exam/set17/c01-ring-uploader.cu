// Streams telemetry blocks to the device through a ring of page-locked slots.  The copies
// have a stream of their own; a slot is refilled once its copy is over, and a device block
// is overwritten once the kernel that reads it is over.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(x)                                                                       \
  do {                                                                                 \
    if (cudaError_t rc = (x); rc != cudaSuccess) {                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));  \
      std::abort();                                                                    \
    }                                                                                  \
  } while (0)

__global__ void detrend(const float* block, int n, float slope, float* sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sums + (i & 63), block[i] - slope * static_cast<float>(i));
}

class Fence {
 public:
  Fence() { CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Fence() { cudaEventDestroy(event_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  void mark(cudaStream_t stream) { CHECK(cudaEventRecord(event_, stream)); }
  void holdBack(cudaStream_t stream) const { CHECK(cudaStreamWaitEvent(stream, event_, 0)); }
  void join() const { CHECK(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Uploader {
 public:
  explicit Uploader(int samples) : samples_(samples) {
    CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&sums_), 64 * sizeof(float)));
    CHECK(cudaMemsetAsync(sums_, 0, 64 * sizeof(float), compute_));
    for (Slot& slot : ring_) {
      CHECK(cudaMallocHost(reinterpret_cast<void**>(&slot.host), bytes()));
      CHECK(cudaMalloc(reinterpret_cast<void**>(&slot.device), bytes()));
    }
  }
  ~Uploader() {
    cudaStreamSynchronize(copy_);
    cudaStreamSynchronize(compute_);
    for (Slot& slot : ring_) {
      cudaFree(slot.device);
      cudaFreeHost(slot.host);
    }
    cudaFree(sums_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(copy_);
  }
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  void push(const std::vector<float>& samples, float slope) {
    Slot& slot = next();
    fill(slot, samples);
    send(slot);
    consume(slot, slope);
  }

  std::vector<float> sums() const {
    std::vector<float> host(64);
    CHECK(cudaMemcpyAsync(host.data(), sums_, 64 * sizeof(float), cudaMemcpyDeviceToHost, compute_));
    CHECK(cudaStreamSynchronize(compute_));
    return host;
  }

 private:
  struct Slot {
    float* host = nullptr;
    float* device = nullptr;
    Fence sent;
    Fence consumed;
  };

  std::size_t bytes() const { return samples_ * sizeof(float); }

  Slot& next() { return ring_[turn_++ % ring_.size()]; }

  void fill(Slot& slot, const std::vector<float>& samples) {
    if (samples.size() != static_cast<std::size_t>(samples_)) std::abort();
    slot.sent.join();
    std::memcpy(slot.host, samples.data(), bytes());
  }

  void send(Slot& slot) {
    slot.consumed.holdBack(copy_);
    CHECK(cudaMemcpyAsync(slot.device, slot.host, bytes(), cudaMemcpyHostToDevice, copy_));
    slot.sent.mark(copy_);
  }

  void consume(Slot& slot, float slope) {
    slot.sent.holdBack(compute_);
    detrend<<<(samples_ + 255) / 256, 256, 0, compute_>>>(slot.device, samples_, slope, sums_);
    CHECK(cudaGetLastError());
    slot.consumed.mark(compute_);
  }

  int samples_;
  unsigned turn_ = 0;
  cudaStream_t copy_ = nullptr, compute_ = nullptr;
  float* sums_ = nullptr;
  std::array<Slot, 3> ring_;
};

int main() {
  Uploader uploader(1 << 15);
  std::vector<float> samples(1 << 15);
  for (int block = 0; block < 40; ++block) {
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 0.5f * static_cast<float>(i % 64);
    uploader.push(samples, 0.001f * block);
  }
  std::printf("%f\n", uploader.sums()[0]);
  return 0;
}

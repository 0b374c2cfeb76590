// Stress program of a pinned memory resource: random payloads go to the device and back on a private stream.
// Modelled on NVIDIA/DALI#4428.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#define CUDA_CALL(x)                                                                     \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

class PinnedResource {
 public:
  void* allocate(size_t bytes) {
    void* p;
    CUDA_CALL(cudaHostAlloc(&p, bytes, cudaHostAllocDefault));
    return p;
  }
  void deallocate(void* p) { CUDA_CALL(cudaFreeHost(p)); }
};

class StreamRAII {
 public:
  StreamRAII() { CUDA_CALL(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~StreamRAII() { cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_{};
};

class RoundTrip {
 public:
  RoundTrip(PinnedResource& mr, size_t device_bytes, size_t payload) : mr_(mr), dev_bytes_(device_bytes), payload_(payload) {
    CUDA_CALL(cudaMalloc(&dev_, dev_bytes_));
    in_ = static_cast<uint8_t*>(mr_.allocate(payload_));
    out_ = static_cast<uint8_t*>(mr_.allocate(payload_));
  }
  ~RoundTrip() {
    mr_.deallocate(in_), mr_.deallocate(out_);
    cudaFree(dev_);
  }
  bool Run(std::mt19937& rng) {
    for (size_t i = 0; i < payload_; ++i) in_[i] = uint8_t(rng());
    std::memset(out_, 0, payload_);
    // wipe whatever the last round has left behind
#ifdef FIXED
    CUDA_CALL(cudaMemsetAsync(dev_, 0, dev_bytes_, stream_));
#else
    CUDA_CALL(cudaMemset(dev_, 0, dev_bytes_));
#endif
    uint8_t* slot = dev_ + dev_bytes_ - payload_;
    CUDA_CALL(cudaMemcpyAsync(slot, in_, payload_, cudaMemcpyHostToDevice, stream_));
    CUDA_CALL(cudaMemcpyAsync(out_, slot, payload_, cudaMemcpyDeviceToHost, stream_));
    CUDA_CALL(cudaStreamSynchronize(stream_));
    return std::memcmp(in_, out_, payload_) == 0;
  }

 private:
  PinnedResource& mr_;
  StreamRAII stream_;
  size_t dev_bytes_, payload_;
  uint8_t *dev_{}, *in_{}, *out_{};
};

int main() {
  PinnedResource mr;
  std::mt19937 rng(12321);
  int intact = 0, rounds = 8;
  {
    RoundTrip trip(mr, size_t(2) << 30, 1 << 16);
    for (int r = 0; r < rounds; ++r) intact += trip.Run(rng);
    CUDA_CALL(cudaDeviceSynchronize());
  }
  std::printf("%d of %d payloads intact\n", intact, rounds);
  CUDA_CALL(cudaGetLastError());
  return 0;
}

// Embedding shards are swapped out to pinned memory on a copy stream and their storage is shrunk at once.
// Modelled on meta-pytorch/torchrec#4218.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define C10_CUDA_CHECK(x)                                                                   \
  do {                                                                                      \
    const cudaError_t e_ = (x);                                                             \
    if (e_ != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));       \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

constexpr size_t kBytes = size_t(64) << 20;

struct Event {
  cudaEvent_t e{};
  Event() { C10_CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e); }
  void record(cudaStream_t s) { C10_CUDA_CHECK(cudaEventRecord(e, s)); }
  void block(cudaStream_t s) { C10_CUDA_CHECK(cudaStreamWaitEvent(s, e, 0)); }
};

// Storage lives on the stream it was allocated on.
class UntypedStorage {
 public:
  explicit UntypedStorage(cudaStream_t s) : stream_(s) {}
  ~UntypedStorage() { resize_(0); }
  void resize_(size_t bytes) {
    if (ptr_) {
#ifdef FIXED
      if (used_elsewhere_) last_use_.block(stream_);
      used_elsewhere_ = false;
#endif
      C10_CUDA_CHECK(cudaFreeAsync(ptr_, stream_));
      ptr_ = nullptr;
    }
    if (bytes) C10_CUDA_CHECK(cudaMallocAsync(&ptr_, bytes, stream_));
  }
  void record_stream(cudaStream_t s) {
    last_use_.record(s);
    used_elsewhere_ = true;
  }
  float* data() const { return static_cast<float*>(ptr_); }

 private:
  cudaStream_t stream_;
  void* ptr_{};
  Event last_use_;
  bool used_elsewhere_ = false;
};

__global__ void lookup_grad(float* w, size_t n, float v) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    w[i] = v + float(i & 3);
}

class SwappableTable {
 public:
  SwappableTable(cudaStream_t main, cudaStream_t d2h) : main_(main), d2h_(d2h), dev_(main) {
    C10_CUDA_CHECK(cudaMallocHost(&cpu_, kBytes));
  }
  ~SwappableTable() { cudaFreeHost(cpu_); }
  void train(float v) {
    dev_.resize_(kBytes);
    lookup_grad<<<264, 256, 0, main_>>>(dev_.data(), kBytes / sizeof(float), v);
    C10_CUDA_CHECK(cudaGetLastError());
  }
  void swap_out() {
    ready_.record(main_);
    ready_.block(d2h_);
    C10_CUDA_CHECK(cudaMemcpyAsync(cpu_, dev_.data(), kBytes, cudaMemcpyDeviceToHost, d2h_));
#ifdef FIXED
    dev_.record_stream(d2h_);
#endif
    dev_.resize_(0);
  }
  float last() const { return cpu_[kBytes / sizeof(float) - 4]; }

 private:
  cudaStream_t main_, d2h_;
  UntypedStorage dev_;
  Event ready_;
  float* cpu_{};
};

int main() {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX;
  C10_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  C10_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  cudaStream_t main_stream, d2h;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&d2h, cudaStreamNonBlocking));
  {
    SwappableTable user(main_stream, d2h), item(main_stream, d2h);
    for (int step = 0; step < 3; ++step) {
      user.train(10.0f + step);
      user.swap_out();
      item.train(-10.0f - step);  // gets the block that user has just let go
      item.swap_out();
      C10_CUDA_CHECK(cudaDeviceSynchronize());
      std::printf("step %d user %.1f item %.1f\n", step, user.last(), item.last());
    }
  }
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  cudaStreamDestroy(main_stream), cudaStreamDestroy(d2h);
  return 0;
}

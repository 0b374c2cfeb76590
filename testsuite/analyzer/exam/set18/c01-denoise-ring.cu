// Video denoiser with three engines busy at once: upload, filter, download.
// A ring of slots is reused; results are delivered `depth` frames late.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#define RING_CHECK(call)                                                   \
  do {                                                                     \
    cudaError_t err_ = (call);                                             \
    if (err_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

__global__ void denoise(const unsigned char* in, unsigned char* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int sum = 0, n = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      int u = x + dx, v = y + dy;
      if (u < 0 || v < 0 || u >= w || v >= h) continue;
      sum += in[v * w + u];
      ++n;
    }
  out[y * w + x] = static_cast<unsigned char>(sum / n);
}

class Denoiser {
 public:
  using Sink = std::function<void(const unsigned char*, size_t)>;

  Denoiser(int w, int h, int depth, Sink sink) : w_(w), h_(h), sink_(std::move(sink)), slots_(depth) {
    for (cudaStream_t* s : {&up_, &filter_, &down_}) RING_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      RING_CHECK(cudaMallocHost(&s.hostIn, bytes()));
      RING_CHECK(cudaMallocHost(&s.hostOut, bytes()));
      RING_CHECK(cudaMalloc(&s.devIn, bytes()));
      RING_CHECK(cudaMalloc(&s.devOut, bytes()));
      for (cudaEvent_t* e : {&s.uploaded, &s.filtered, &s.downloaded})
        RING_CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    }
  }

  ~Denoiser() {
    for (cudaStream_t s : {up_, filter_, down_}) cudaStreamSynchronize(s);
    for (Slot& s : slots_) {
      for (cudaEvent_t e : {s.uploaded, s.filtered, s.downloaded}) cudaEventDestroy(e);
      cudaFree(s.devOut);
      cudaFree(s.devIn);
      cudaFreeHost(s.hostOut);
      cudaFreeHost(s.hostIn);
    }
    for (cudaStream_t s : {up_, filter_, down_}) cudaStreamDestroy(s);
  }
  Denoiser(const Denoiser&) = delete;
  Denoiser& operator=(const Denoiser&) = delete;

  void push(const unsigned char* frame) {
    Slot& s = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    // The download is the last operation on a slot: once it is done, all four
    // buffers of the slot are free again.
    deliver(s);
    std::memcpy(s.hostIn, frame, bytes());
    upload(s);
    filter(s);
    download(s);
    s.busy = true;
  }

  void flush() {
    for (size_t i = 0; i < slots_.size(); ++i) deliver(slots_[(next_ + i) % slots_.size()]);
  }

 private:
  struct Slot {
    unsigned char *hostIn = nullptr, *hostOut = nullptr, *devIn = nullptr, *devOut = nullptr;
    cudaEvent_t uploaded = nullptr, filtered = nullptr, downloaded = nullptr;
    bool busy = false;
  };

  size_t bytes() const { return size_t(w_) * h_; }

  void deliver(Slot& s) {
    if (!s.busy) return;
    RING_CHECK(cudaEventSynchronize(s.downloaded));
    sink_(s.hostOut, bytes());
    s.busy = false;
  }

  void upload(Slot& s) {
    RING_CHECK(cudaMemcpyAsync(s.devIn, s.hostIn, bytes(), cudaMemcpyHostToDevice, up_));
    RING_CHECK(cudaEventRecord(s.uploaded, up_));
  }

  void filter(Slot& s) {
    RING_CHECK(cudaStreamWaitEvent(filter_, s.uploaded, 0));
    dim3 block(32, 8), grid((w_ + 31) / 32, (h_ + 7) / 8);
    denoise<<<grid, block, 0, filter_>>>(s.devIn, s.devOut, w_, h_);
    RING_CHECK(cudaGetLastError());
    RING_CHECK(cudaEventRecord(s.filtered, filter_));
  }

  void download(Slot& s) {
    RING_CHECK(cudaStreamWaitEvent(down_, s.filtered, 0));
    RING_CHECK(cudaMemcpyAsync(s.hostOut, s.devOut, bytes(), cudaMemcpyDeviceToHost, down_));
    RING_CHECK(cudaEventRecord(s.downloaded, down_));
  }

  int w_, h_;
  Sink sink_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
  cudaStream_t up_ = nullptr, filter_ = nullptr, down_ = nullptr;
};

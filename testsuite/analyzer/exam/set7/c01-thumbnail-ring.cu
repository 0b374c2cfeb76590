// Thumbnailer: three slots travel through upload, scale and download; results are collected three frames late.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define DO(x)                                                                          \
  do {                                                                                 \
    cudaError_t e_ = (x);                                                              \
    if (e_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));  \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kSlots = 3;
constexpr int kScale = 4;

__global__ void boxScale(const uint8_t* in, uint8_t* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int ow = width / kScale, oh = height / kScale;
  if (x >= ow || y >= oh) return;
  int acc = 0;
  for (int j = 0; j < kScale; ++j)
    for (int i = 0; i < kScale; ++i) acc += in[(y * kScale + j) * width + x * kScale + i];
  out[y * ow + x] = static_cast<uint8_t>(acc / (kScale * kScale));
}

class ThumbnailRing {
 public:
  ThumbnailRing(int width, int height) : width_(width), height_(height) {
    DO(cudaStreamCreateWithFlags(&up_, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&scale_, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&down_, cudaStreamNonBlocking));
    DO(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    DO(cudaEventCreateWithFlags(&scaled_, cudaEventDisableTiming));
    for (Slot& s : slots_) {
      DO(cudaMallocHost(&s.source, inBytes()));
      DO(cudaMallocHost(&s.thumb, outBytes()));
      DO(cudaMalloc(&s.devSource, inBytes()));
      DO(cudaMalloc(&s.devThumb, outBytes()));
      DO(cudaEventCreateWithFlags(&s.downloaded, cudaEventDisableTiming | cudaEventBlockingSync));
    }
  }
  ~ThumbnailRing() {
    for (Slot& s : slots_) DO(cudaEventSynchronize(s.downloaded));
    for (Slot& s : slots_) {
      DO(cudaFreeHost(s.source));
      DO(cudaFreeHost(s.thumb));
      DO(cudaFree(s.devSource));
      DO(cudaFree(s.devThumb));
      DO(cudaEventDestroy(s.downloaded));
    }
    DO(cudaEventDestroy(uploaded_));
    DO(cudaEventDestroy(scaled_));
    for (cudaStream_t st : {up_, scale_, down_}) DO(cudaStreamDestroy(st));
  }
  ThumbnailRing(const ThumbnailRing&) = delete;
  ThumbnailRing& operator=(const ThumbnailRing&) = delete;

  // The host side of a slot, idle: its previous thumbnail has arrived.
  uint8_t* beginFrame(int frame) {
    Slot& s = slots_[frame % kSlots];
    DO(cudaEventSynchronize(s.downloaded));
    return s.source;
  }

  void submit(int frame) {
    Slot& s = slots_[frame % kSlots];
    DO(cudaMemcpyAsync(s.devSource, s.source, inBytes(), cudaMemcpyHostToDevice, up_));
    follow(up_, uploaded_, scale_);
    const dim3 block(16, 16);
    const dim3 grid((width_ / kScale + 15) / 16, (height_ / kScale + 15) / 16);
    boxScale<<<grid, block, 0, scale_>>>(s.devSource, s.devThumb, width_, height_);
    DO(cudaGetLastError());
    follow(scale_, scaled_, down_);
    DO(cudaMemcpyAsync(s.thumb, s.devThumb, outBytes(), cudaMemcpyDeviceToHost, down_));
    DO(cudaEventRecord(s.downloaded, down_));
  }

  const uint8_t* thumbnail(int frame) {
    Slot& s = slots_[frame % kSlots];
    DO(cudaEventSynchronize(s.downloaded));
    return s.thumb;
  }

  size_t inBytes() const { return static_cast<size_t>(width_) * height_; }
  size_t outBytes() const { return inBytes() / (kScale * kScale); }

 private:
  struct Slot {
    uint8_t* source = nullptr;
    uint8_t* thumb = nullptr;
    uint8_t* devSource = nullptr;
    uint8_t* devThumb = nullptr;
    cudaEvent_t downloaded = nullptr;
  };

  // One event per edge is enough: each wait is queued before the event is recorded again.
  static void follow(cudaStream_t first, cudaEvent_t link, cudaStream_t second) {
    DO(cudaEventRecord(link, first));
    DO(cudaStreamWaitEvent(second, link, 0));
  }

  int width_, height_;
  cudaStream_t up_ = nullptr, scale_ = nullptr, down_ = nullptr;
  cudaEvent_t uploaded_ = nullptr, scaled_ = nullptr;
  Slot slots_[kSlots];
};

static unsigned long long digest(const uint8_t* p, size_t n) {
  unsigned long long h = 1469598103934665603ull;
  for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 1099511628211ull;
  return h;
}

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 50;
  ThumbnailRing ring(1280, 720);
  unsigned long long all = 0;
  for (int f = 0; f < frames; ++f) {
    if (f >= kSlots) all ^= digest(ring.thumbnail(f - kSlots), ring.outBytes());
    uint8_t* pixels = ring.beginFrame(f);
    for (size_t i = 0; i < ring.inBytes(); ++i) pixels[i] = static_cast<uint8_t>(i * 7 + f);
    ring.submit(f);
  }
  for (int f = std::max(0, frames - kSlots); f < frames; ++f)
    all ^= digest(ring.thumbnail(f), ring.outBytes());
  std::printf("%d thumbnails, digest %llx\n", frames, all);
  return 0;
}

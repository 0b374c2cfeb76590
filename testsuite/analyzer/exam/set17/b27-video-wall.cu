// Feeds the panels of a video wall; the panels are spread over all GPUs of the host.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

// For calls whose failure must not take the wall down.
#define WALL_LOG(call)                                                                  \
  do {                                                                                  \
    const cudaError_t e_ = (call);                                                      \
    if (e_ != cudaSuccess) std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(e_)); \
    (void)cudaGetLastError();                                                           \
  } while (0)
#define WALL_DIE(call)                                                                  \
  do {                                                                                  \
    const cudaError_t d_ = (call);                                                      \
    if (d_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(d_));                    \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

__global__ void convertToLinear(const uint8_t* srgb, float* linear, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) linear[i] = powf(srgb[i] * (1.0f / 255.0f), 2.2f);
}

// Recycles events; creating them per frame showed up in profiles.
class EventCache {
 public:
  ~EventCache() {
    for (cudaEvent_t e : idle_) cudaEventDestroy(e);
  }
  cudaEvent_t acquire(int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      cudaEvent_t e = idle_.back();
      idle_.pop_back();
      return e;
    }
    cudaEvent_t e = nullptr;
    WALL_DIE(cudaSetDevice(device));
    WALL_DIE(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
  }
  void release(cudaEvent_t e, int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(e);
  }

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};
// Portable page-locked frames shared by all panels. A frame that comes back carries a fence.
class FramePool {
 public:
  struct Frame {
    uint8_t* pixels = nullptr;
    cudaEvent_t fence = nullptr;
    int device = -1;
  };
  FramePool(size_t frames, size_t bytes) {
    for (size_t i = 0; i < frames; ++i) {
      Frame f;
      WALL_DIE(cudaHostAlloc(reinterpret_cast<void**>(&f.pixels), bytes, cudaHostAllocPortable));
      frames_.push_back(f);
    }
  }
  ~FramePool() {
    for (Frame& f : frames_) {
      if (f.fence) cudaEventDestroy(f.fence);
      cudaFreeHost(f.pixels);
    }
  }
  Frame acquire() {
    Frame f;
    std::unique_lock<std::mutex> lock(mutex_);
    if (frames_.empty()) return f;
    f = frames_.front();
    frames_.erase(frames_.begin());
    lock.unlock();
    if (f.fence) {
      WALL_LOG(cudaEventSynchronize(f.fence));
      events_.release(f.fence, f.device);
      f.fence = nullptr;
    }
    return f;
  }

  // `stream` is the last one that reads the frame.
  void recycle(Frame f, int device, cudaStream_t stream) {
    f.fence = events_.acquire(device);
    f.device = device;
    WALL_LOG(cudaSetDevice(device));
    WALL_LOG(cudaEventRecord(f.fence, stream));
    std::lock_guard<std::mutex> lock(mutex_);
    frames_.push_back(f);
  }

 private:
  EventCache events_;
  std::mutex mutex_;
  std::vector<Frame> frames_;
};
class Panel {
 public:
  Panel(int device, size_t bytes, FramePool& pool) : device_(device), bytes_(bytes), pool_(pool) {
    WALL_DIE(cudaSetDevice(device_));
    WALL_DIE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    WALL_DIE(cudaMalloc(reinterpret_cast<void**>(&srgb_), bytes_));
    WALL_DIE(cudaMalloc(reinterpret_cast<void**>(&linear_), bytes_ * sizeof(float)));
  }
  ~Panel() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    for (void* p : {static_cast<void*>(srgb_), static_cast<void*>(linear_)}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  bool show(const uint8_t* pixels) {
    FramePool::Frame f = pool_.acquire();
    if (!f.pixels) return false;
    std::memcpy(f.pixels, pixels, bytes_);
    WALL_DIE(cudaSetDevice(device_));
    WALL_DIE(cudaMemcpyAsync(srgb_, f.pixels, bytes_, cudaMemcpyHostToDevice, stream_));
    pool_.recycle(f, device_, stream_);
    const unsigned grid = static_cast<unsigned>((bytes_ + 255) / 256);
    convertToLinear<<<grid, 256, 0, stream_>>>(srgb_, linear_, bytes_);
    WALL_DIE(cudaGetLastError());
    return true;
  }

 private:
  int device_;
  size_t bytes_;
  FramePool& pool_;
  cudaStream_t stream_ = nullptr;
  uint8_t* srgb_ = nullptr;
  float* linear_ = nullptr;
};

int main() {
  constexpr size_t kBytes = 3840u * 2160u * 3u;
  int devices = 0;
  WALL_DIE(cudaGetDeviceCount(&devices));
  FramePool pool(3, kBytes);
  std::vector<std::unique_ptr<Panel>> panels;
  for (int d = 0; d < devices; ++d) panels.emplace_back(new Panel(d, kBytes, pool));
  std::vector<uint8_t> picture(kBytes);
  for (int frame = 0; frame < 600; ++frame)
    for (auto& p : panels) {
      std::memset(picture.data(), frame & 0xff, picture.size());
      if (!p->show(picture.data())) return 1;
    }
}

// A volume is smoothed on GPU 0 and rendered on GPU 1. Slices are relayed through two
// landing buffers on GPU 1; every event is recorded on the device that made it.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace relay {

#define GOOD(x) do { cudaError_t g_ = (x); if (g_ != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(g_)); std::abort(); } } while (0)

__global__ void smooth(const float* volume, int slice, int w, int h, float* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  const float* s = volume + std::size_t(slice) * w * h;
  float acc = 0.f;
  for (int d = -1; d <= 1; ++d) acc += s[y * w + min(max(x + d, 0), w - 1)];
  out[y * w + x] = acc / 3.f;
}

__global__ void composite(const float* slice, int n, float opacity, float* image) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) image[i] += opacity * (slice[i] - image[i]);
}

class OnDevice {
 public:
  explicit OnDevice(int dev) {
    GOOD(cudaGetDevice(&before_));
    GOOD(cudaSetDevice(dev));
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// Stream, events and memory of one device.
class Side {
 public:
  Side(int dev, std::size_t floats) : dev_(dev) {
    OnDevice d(dev_);
    GOOD(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int k = 0; k < 2; ++k) {
      GOOD(cudaEventCreateWithFlags(&mark_[k], cudaEventDisableTiming));
      GOOD(cudaMalloc(reinterpret_cast<void**>(&buf_[k]), floats * sizeof(float)));
    }
  }
  ~Side() {
    OnDevice d(dev_);
    cudaStreamSynchronize(stream_);
    for (int k = 0; k < 2; ++k) {
      cudaEventDestroy(mark_[k]);
      cudaFree(buf_[k]);
    }
    cudaStreamDestroy(stream_);
  }
  int dev() const { return dev_; }
  cudaStream_t stream() const { return stream_; }
  float* buf(int k) const { return buf_[k]; }
  void mark(int k) { GOOD(cudaEventRecord(mark_[k], stream_)); }
  // Waiting across devices is allowed.
  void after(const Side& other, int k) { GOOD(cudaStreamWaitEvent(stream_, other.mark_[k], 0)); }

 private:
  int dev_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 2> mark_{};
  std::array<float*, 2> buf_{};
};

class VolumeRelay {
 public:
  VolumeRelay(int w, int h) : w_(w), h_(h), worker_(0, std::size_t(w) * h), screen_(1, std::size_t(w) * h) {
    OnDevice d(screen_.dev());
    GOOD(cudaMalloc(reinterpret_cast<void**>(&image_), pixels() * sizeof(float)));
  }
  ~VolumeRelay() {
    OnDevice d(screen_.dev());
    cudaStreamSynchronize(screen_.stream());
    cudaFree(image_);
  }

  // `volume` lives on device 0 and does not change. `out` is page-locked.
  void render(const float* volume, int slices, float* out) {
    {
      OnDevice d(screen_.dev());
      GOOD(cudaMemsetAsync(image_, 0, pixels() * sizeof(float), screen_.stream()));
    }
    for (int s = 0; s < slices; ++s) {
      send(volume, s);
      draw(s);
    }
    OnDevice d(screen_.dev());
    GOOD(cudaMemcpyAsync(out, image_, pixels() * sizeof(float), cudaMemcpyDeviceToHost, screen_.stream()));
    GOOD(cudaStreamSynchronize(screen_.stream()));
  }

 private:
  std::size_t pixels() const { return std::size_t(w_) * h_; }

  // Smooths into the local buffer; the copy goes out in the worker's stream as well.
  void send(const float* volume, int s) {
    const int k = s & 1;
    OnDevice d(worker_.dev());
    smooth<<<dim3((w_ + 127) / 128, h_), 128, 0, worker_.stream()>>>(volume, s, w_, h_, worker_.buf(k));
    GOOD(cudaGetLastError());
    worker_.after(screen_, k);
    GOOD(cudaMemcpyPeerAsync(screen_.buf(k), screen_.dev(), worker_.buf(k), worker_.dev(), pixels() * sizeof(float),
                             worker_.stream()));
    worker_.mark(k);
  }

  void draw(int s) {
    const int k = s & 1;
    OnDevice d(screen_.dev());
    screen_.after(worker_, k);
    composite<<<int((pixels() + 255) / 256), 256, 0, screen_.stream()>>>(screen_.buf(k), int(pixels()), 0.05f, image_);
    GOOD(cudaGetLastError());
    screen_.mark(k);
  }

  int w_, h_;
  Side worker_, screen_;
  float* image_ = nullptr;
};

}  // namespace relay

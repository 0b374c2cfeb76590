// Endoscope live view: demosaic, temporal denoise and overlay run on a stream
// each; a ring of surfaces travels through the three stages.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>

#define CU(x)                                                                  \
  do {                                                                         \
    if (cudaError_t rc_ = (x)) throw std::runtime_error(cudaGetErrorString(rc_));\
  } while (0)

__global__ void demosaic(const uint8_t* raw, float* rgb, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rgb[i] = raw[i] * (1.f / 255.f);
}
__global__ void denoise(const float* rgb, float* history, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  history[i] = 0.9f * history[i] + 0.1f * rgb[i];
  out[i] = history[i];
}
__global__ void overlay(const float* img, const float* rgb, uint8_t* screen, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) screen[i] = static_cast<uint8_t>(255.f * fminf(1.f, 0.8f * img[i] + 0.2f * rgb[i]));
}

class Stage {
 public:
  Stage() { CU(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stage() {
    cudaStreamSynchronize(s_);
    cudaStreamDestroy(s_);
  }
  Stage(const Stage&) = delete;
  cudaStream_t stream() const { return s_; }
  void after(cudaEvent_t e) { CU(cudaStreamWaitEvent(s_, e, 0)); }
  void mark(cudaEvent_t e) { CU(cudaEventRecord(e, s_)); }

 private:
  cudaStream_t s_ = nullptr;
};

struct Surface {
  float* rgb = nullptr;
  float* clean = nullptr;
  cudaEvent_t decoded = nullptr, cleaned = nullptr, shown = nullptr;
};

class LiveView {
 public:
  static constexpr int kDepth = 3;

  explicit LiveView(int pixels) : n_(pixels) {
    for (Surface& s : ring_) {
      CU(cudaMalloc(&s.rgb, n_ * sizeof(float)));
      CU(cudaMalloc(&s.clean, n_ * sizeof(float)));
      for (cudaEvent_t* e : {&s.decoded, &s.cleaned, &s.shown}) CU(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    }
    CU(cudaMalloc(&history_, n_ * sizeof(float)));
    CU(cudaMemsetAsync(history_, 0, n_ * sizeof(float), filter_.stream()));
    CU(cudaStreamSynchronize(filter_.stream()));
  }
  ~LiveView() {
    drain();
    for (Surface& s : ring_) {
      cudaFree(s.rgb);
      cudaFree(s.clean);
      for (cudaEvent_t e : {s.decoded, s.cleaned, s.shown}) cudaEventDestroy(e);
    }
    cudaFree(history_);
  }

  void push(const uint8_t* rawDevice, uint8_t* screen) {
    Surface& s = ring_[frame_++ % kDepth];
    input_.after(s.shown);
    demosaic<<<grid(), 256, 0, input_.stream()>>>(rawDevice, s.rgb, n_);
    input_.mark(s.decoded);
    filter(s);
    display(s, screen);
    CU(cudaGetLastError());
  }

  void drain() { CU(cudaStreamSynchronize(output_.stream())); }

 private:
  void filter(Surface& s) {
    filter_.after(s.decoded);
    denoise<<<grid(), 256, 0, filter_.stream()>>>(s.rgb, history_, s.clean, n_);
    filter_.mark(s.cleaned);
  }
  void display(Surface& s, uint8_t* screen) {
    output_.after(s.cleaned);
    overlay<<<grid(), 256, 0, output_.stream()>>>(s.clean, s.rgb, screen, n_);
    output_.mark(s.shown);
  }
  int grid() const { return (n_ + 255) / 256; }

  int n_;
  size_t frame_ = 0;
  Stage input_, filter_, output_;
  std::array<Surface, kDepth> ring_;
  float* history_ = nullptr;
};

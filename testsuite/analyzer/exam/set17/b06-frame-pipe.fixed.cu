// Demosaicing front end of a multi-camera rig.  Frames are produced into a small ring on the
// pipe's own stream; clients copy them out on whatever stream they like and give the slot back.
//
// Contract: a client calls acquire(), any number of copyOut() and then release().  None of
// the calls blocks for the device, and a client need not synchronize before release().
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace rig {

class CudaFailure : public std::runtime_error {
 public:
  explicit CudaFailure(cudaError_t rc) : std::runtime_error(cudaGetErrorString(rc)) {}
};

inline void ok(cudaError_t rc) {
  if (rc != cudaSuccess) throw CudaFailure(rc);
}

__global__ void demosaic(uchar4* out, int width, int height, unsigned seed) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned v = seed * 2654435761u + static_cast<unsigned>(y * width + x) * 40503u;
  out[y * width + x] = make_uchar4(v & 255, (v >> 8) & 255, (v >> 16) & 255, 255);
}

__global__ void luminance(const uchar4* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.299f * in[i].x + 0.587f * in[i].y + 0.114f * in[i].z;
}

class FramePipe {
 public:
  FramePipe(int width, int height) : width_(width), height_(height) {
    ok(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (Slot& slot : slots_) {
      ok(cudaMalloc(reinterpret_cast<void**>(&slot.pixels), bytes()));
      ok(cudaEventCreateWithFlags(&slot.ready, cudaEventDisableTiming));
      ok(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming));
    }
  }

  ~FramePipe() {
    cudaDeviceSynchronize();
    for (Slot& slot : slots_) {
      cudaEventDestroy(slot.copied);
      cudaEventDestroy(slot.ready);
      cudaFree(slot.pixels);
    }
    cudaStreamDestroy(stage_);
  }
  FramePipe(const FramePipe&) = delete;
  FramePipe& operator=(const FramePipe&) = delete;

  std::size_t bytes() const { return sizeof(uchar4) * width_ * height_; }
  int pixels() const { return width_ * height_; }

  // Develops the next frame and returns the slot that holds it.
  int acquire() {
    const int index = static_cast<int>(frame_ % slots_.size());
    Slot& slot = slots_[index];
    if (slot.held) throw std::logic_error("all slots are held");
    slot.held = true;
    develop(slot);
    ++frame_;
    return index;
  }

  void copyOut(int index, uchar4* dst, cudaStream_t user) {
    Slot& slot = slots_.at(index);
    ok(cudaStreamWaitEvent(user, slot.ready, 0));
    ok(cudaMemcpyAsync(dst, slot.pixels, bytes(), cudaMemcpyDeviceToDevice, user));
    ok(cudaEventRecord(slot.copied, user));
    ok(cudaStreamWaitEvent(stage_, slot.copied, 0));
  }

  void release(int index) { slots_.at(index).held = false; }

 private:
  struct Slot {
    uchar4* pixels = nullptr;
    cudaEvent_t ready = nullptr;
    cudaEvent_t copied = nullptr;
    bool held = false;
  };

  void develop(Slot& slot) {
    const dim3 block(32, 8);
    const dim3 grid((width_ + 31) / 32, (height_ + 7) / 8);
    demosaic<<<grid, block, 0, stage_>>>(slot.pixels, width_, height_, frame_);
    ok(cudaGetLastError());
    ok(cudaEventRecord(slot.ready, stage_));
  }

  int width_, height_;
  unsigned frame_ = 0;
  cudaStream_t stage_ = nullptr;
  std::array<Slot, 2> slots_;
};

class Exposure {
 public:
  explicit Exposure(FramePipe& pipe) : pipe_(pipe) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMalloc(reinterpret_cast<void**>(&frame_), pipe_.bytes()));
    ok(cudaMalloc(reinterpret_cast<void**>(&luma_), sizeof(float) * pipe_.pixels()));
  }
  ~Exposure() {
    cudaStreamSynchronize(stream_);
    cudaFree(luma_);
    cudaFree(frame_);
    cudaStreamDestroy(stream_);
  }

  void step() {
    const int slot = pipe_.acquire();
    pipe_.copyOut(slot, frame_, stream_);
    pipe_.release(slot);
    const int n = pipe_.pixels();
    luminance<<<(n + 255) / 256, 256, 0, stream_>>>(frame_, luma_, n);
    ok(cudaGetLastError());
  }

  float center() {
    float value = 0.0f;
    ok(cudaMemcpyAsync(&value, luma_ + pipe_.pixels() / 2, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ok(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  FramePipe& pipe_;
  cudaStream_t stream_ = nullptr;
  uchar4* frame_ = nullptr;
  float* luma_ = nullptr;
};

float meterSequence(int frames) {
  FramePipe pipe(1920, 1080);
  Exposure exposure(pipe);
  for (int i = 0; i < frames; ++i) exposure.step();
  return exposure.center();
}

}  // namespace rig

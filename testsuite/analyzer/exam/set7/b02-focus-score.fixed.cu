// Autofocus metric for a microscope: gradient energy of the frame under the objective.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace focus {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct FrameView {
  const uint16_t* pixels;
  int width;
  int height;
  int stride;
};

__global__ void gradientEnergy(FrameView f, unsigned long long* energy) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x + 1 >= f.width || y + 1 >= f.height) return;
  const int c = f.pixels[y * f.stride + x];
  const int dx = f.pixels[y * f.stride + x + 1] - c;
  const int dy = f.pixels[(y + 1) * f.stride + x] - c;
  atomicAdd(energy, static_cast<unsigned long long>(dx * dx + dy * dy));
}

// Operators of this library run entirely in the stream that they are given.
class FocusOperator {
 public:
  FocusOperator() { check(cudaMalloc(&energy_, sizeof(*energy_)), "cudaMalloc"); }
  ~FocusOperator() { cudaFree(energy_); }
  FocusOperator(const FocusOperator&) = delete;
  FocusOperator& operator=(const FocusOperator&) = delete;

  double score(const FrameView& frame, cudaStream_t stream) {
    const dim3 block(32, 8);
    const dim3 grid((frame.width + block.x - 1) / block.x, (frame.height + block.y - 1) / block.y);
    check(cudaMemsetAsync(energy_, 0, sizeof(*energy_), stream), "memset");
    gradientEnergy<<<grid, block, 0, stream>>>(frame, energy_);
    check(cudaGetLastError(), "gradientEnergy");
    unsigned long long total = 0;
    check(cudaMemcpyAsync(&total, energy_, sizeof(total), cudaMemcpyDeviceToHost, stream), "read back");
    check(cudaStreamSynchronize(stream), "read back");
    return static_cast<double>(total) / (static_cast<double>(frame.width) * frame.height);
  }

 private:
  unsigned long long* energy_ = nullptr;
};

// One stage position = one frame. The controller hill-climbs on the score.
class FocusController {
 public:
  FocusController(int width, int height) : width_(width), height_(height) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&frame_, bytes()), "frame");
  }
  ~FocusController() {
    cudaStreamSynchronize(stream_);
    cudaFree(frame_);
    cudaStreamDestroy(stream_);
  }
  FocusController(const FocusController&) = delete;
  FocusController& operator=(const FocusController&) = delete;

  // `sensor` is the camera's DMA ring entry; it stays valid until the next trigger.
  double evaluate(const uint16_t* sensor) {
    check(cudaMemcpyAsync(frame_, sensor, bytes(), cudaMemcpyHostToDevice, stream_), "upload");
    const double s = op_.score(FrameView{frame_, width_, height_, width_}, stream_);
    check(cudaStreamSynchronize(stream_), "evaluate");
    return s;
  }

  // Returns the step to move: positive up, negative down, 0 when in focus.
  int advise(const uint16_t* sensor) {
    const double s = evaluate(sensor);
    if (s > best_) {
      best_ = s;
      return direction_;
    }
    direction_ = -direction_;
    ++turns_;
    return turns_ > 3 ? 0 : direction_;
  }

 private:
  size_t bytes() const { return static_cast<size_t>(width_) * height_ * sizeof(uint16_t); }

  int width_, height_;
  cudaStream_t stream_ = nullptr;
  uint16_t* frame_ = nullptr;
  FocusOperator op_;
  double best_ = 0.0;
  int direction_ = 1;
  int turns_ = 0;
};

}  // namespace focus

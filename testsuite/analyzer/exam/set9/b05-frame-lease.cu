// Frame ring of the thermal camera driver. The sensor stage fills frames on
// its own stream; clients lease the newest frame, copy it away on a stream of
// theirs and give it back.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

namespace thermo {

#define THERMO_TRY(expr)                                                     \
  do {                                                                       \
    if (cudaError_t e_ = (expr); e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_)); \
  } while (0)

struct Geometry {
  int width;
  int height;
  std::size_t count() const { return static_cast<std::size_t>(width) * height; }
};

struct Frame {
  float* kelvin = nullptr;
  cudaEvent_t filled = nullptr;
  cudaEvent_t returned = nullptr;
};

__global__ void calibrate(const std::uint16_t* raw, const float* gain, float* kelvin, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    kelvin[i] = gain[i] * static_cast<float>(raw[i]) + 255.37f;
}

class FrameRing {
 public:
  FrameRing(Geometry g, int depth) : geometry_(g), frames_(depth) {
    THERMO_TRY(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (Frame& f : frames_) {
      THERMO_TRY(cudaMalloc(&f.kelvin, g.count() * sizeof(float)));
      THERMO_TRY(cudaEventCreateWithFlags(&f.filled, cudaEventDisableTiming));
      THERMO_TRY(cudaEventCreateWithFlags(&f.returned, cudaEventDisableTiming));
      idle_.push_back(&f);
    }
  }
  ~FrameRing() {
    cudaDeviceSynchronize();
    for (Frame& f : frames_) {
      cudaFree(f.kelvin);
      cudaEventDestroy(f.filled);
      cudaEventDestroy(f.returned);
    }
    cudaStreamDestroy(stage_);
  }
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  cudaStream_t stage() const { return stage_; }

  // `raw` and `gain` are written by work on stage().
  void push(const std::uint16_t* raw, const float* gain) {
    if (idle_.empty()) throw std::runtime_error("frame ring: every frame is leased");
    Frame* f = idle_.front();
    idle_.pop_front();
    THERMO_TRY(cudaStreamWaitEvent(stage_, f->returned, 0));
    calibrate<<<120, 256, 0, stage_>>>(raw, gain, f->kelvin, geometry_.count());
    THERMO_TRY(cudaGetLastError());
    THERMO_TRY(cudaEventRecord(f->filled, stage_));
    fresh_.push_back(f);
  }

  // Orders `stream` after the sensor stage; the frame stays the client's until give_back().
  Frame* lease(cudaStream_t stream) {
    if (fresh_.empty()) return nullptr;
    Frame* f = fresh_.front();
    fresh_.pop_front();
    THERMO_TRY(cudaStreamWaitEvent(stream, f->filled, 0));
    return f;
  }

  void give_back(Frame* f) {
    THERMO_TRY(cudaEventRecord(f->returned, stage_));
    idle_.push_back(f);
  }

  const Geometry& geometry() const { return geometry_; }

 private:
  Geometry geometry_;
  cudaStream_t stage_ = nullptr;
  std::vector<Frame> frames_;
  std::deque<Frame*> idle_;
  std::deque<Frame*> fresh_;
};

// Copies the oldest unread frame into memory of the client.
bool copy_next(FrameRing& ring, float* dst, std::size_t dst_pitch, cudaStream_t stream) {
  Frame* f = ring.lease(stream);
  if (!f) return false;
  const Geometry& g = ring.geometry();
  const std::size_t row = static_cast<std::size_t>(g.width) * sizeof(float);
  THERMO_TRY(cudaMemcpy2DAsync(dst, dst_pitch, f->kelvin, row, row, g.height, cudaMemcpyDeviceToDevice, stream));
  ring.give_back(f);
  return true;
}

}  // namespace thermo

// Video wall: frames are composed on the render GPU and mirrored to viewers on other GPUs.
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace wall {

inline void guard(cudaError_t e, const char* where) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

struct Extent {
  int width;
  int height;
  size_t bytes() const { return static_cast<size_t>(width) * height * sizeof(uchar4); }
};

__global__ void composeKernel(uchar4* frame, Extent e, int tick) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= e.width || y >= e.height) return;
  frame[y * e.width + x] = make_uchar4(x + tick, y + tick, x ^ y, 255);
}

__global__ void presentKernel(const uchar4* frame, uint32_t* surface, Extent e) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= e.width || y >= e.height) return;
  const uchar4 p = frame[y * e.width + x];
  surface[y * e.width + x] = (p.x << 24) | (p.y << 16) | (p.z << 8) | p.w;
}

inline dim3 tiles(const Extent& e) { return dim3((e.width + 15) / 16, (e.height + 15) / 16); }

// A viewer owns everything on its own device.
class Viewer {
 public:
  Viewer(int device, Extent e) : device_(device), extent_(e) {
    guard(cudaSetDevice(device_), "viewer device");
    guard(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "viewer stream");
    guard(cudaEventCreateWithFlags(&received_, cudaEventDisableTiming), "viewer event");
    guard(cudaMalloc(&frame_, e.bytes()), "viewer frame");
    guard(cudaMalloc(&surface_, sizeof(uint32_t) * e.width * e.height), "viewer surface");
  }
  ~Viewer() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(frame_);
    cudaFree(surface_);
    cudaEventDestroy(received_);
    cudaStreamDestroy(stream_);
  }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // Takes a copy of `frame` once `composed` has happened; `received()` tells when the copy is over.
  void receive(const uchar4* frame, int sourceDevice, cudaEvent_t composed) {
    guard(cudaSetDevice(device_), "receive");
    guard(cudaStreamWaitEvent(stream_, composed, 0), "receive wait");
    guard(cudaMemcpyPeerAsync(frame_, device_, frame, sourceDevice, extent_.bytes(), stream_),
          "receive copy");
    guard(cudaEventRecord(received_, stream_), "receive record");
    presentKernel<<<tiles(extent_), dim3(16, 16), 0, stream_>>>(frame_, surface_, extent_);
    guard(cudaGetLastError(), "present");
  }

  cudaEvent_t received() const { return received_; }

 private:
  int device_;
  Extent extent_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t received_ = nullptr;
  uchar4* frame_ = nullptr;
  uint32_t* surface_ = nullptr;
};

class Composer {
 public:
  Composer(int device, Extent e) : device_(device), extent_(e) {
    guard(cudaSetDevice(device_), "composer device");
    guard(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "composer stream");
    guard(cudaEventCreateWithFlags(&composed_, cudaEventDisableTiming), "composer event");
    guard(cudaMalloc(&frame_, e.bytes()), "composer frame");
  }
  // Viewers go first: nobody reads the frame any more after that.
  ~Composer() {
    viewers_.clear();
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(frame_);
    cudaEventDestroy(composed_);
    cudaStreamDestroy(stream_);
  }
  Composer(const Composer&) = delete;
  Composer& operator=(const Composer&) = delete;

  void attach(int device) { viewers_.push_back(std::make_unique<Viewer>(device, extent_)); }

  void tick() {
    compose();
    broadcast();
  }

 private:
  void compose() {
    guard(cudaSetDevice(device_), "compose");
    composeKernel<<<tiles(extent_), dim3(16, 16), 0, stream_>>>(frame_, extent_, tick_++);
    guard(cudaGetLastError(), "compose");
    guard(cudaEventRecord(composed_, stream_), "compose record");
  }

  void broadcast() {
    for (const std::unique_ptr<Viewer>& viewer : viewers_) {
      viewer->receive(frame_, device_, composed_);
    }
    guard(cudaSetDevice(device_), "broadcast");
  }

  int device_;
  Extent extent_;
  int tick_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t composed_ = nullptr;
  uchar4* frame_ = nullptr;
  std::vector<std::unique_ptr<Viewer>> viewers_;
};

}  // namespace wall

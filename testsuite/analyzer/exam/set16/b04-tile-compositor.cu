// Sort-last rendering on two GPUs: the worker GPU shades a tile, ships it to the display GPU's inbox,
// and the display GPU blends it over the frame.
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CU(call)                                                                             \
  do {                                                                                       \
    const cudaError_t rc = (call);                                                           \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#call " failed: ") + cudaGetErrorString(rc)); \
  } while (0)

struct DeviceScope {
  explicit DeviceScope(int device) {
    CU(cudaGetDevice(&previous_));
    CU(cudaSetDevice(device));
  }
  ~DeviceScope() { cudaSetDevice(previous_); }
  int previous_ = 0;
};

__global__ void shadeTile(float4* tile, int n, int frame, int tileIndex) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[i] = make_float4(frame * 0.001f, tileIndex * 0.1f, i * 1e-6f, 0.5f);
}

__global__ void blendTile(float4* frame, const float4* tile, int n, int offset) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 s = tile[i], d = frame[offset + i];
  float a = s.w;
  frame[offset + i] = make_float4(s.x * a + d.x * (1 - a), s.y * a + d.y * (1 - a), s.z * a + d.z * (1 - a), 1.f);
}

class WorkerGpu {
 public:
  WorkerGpu(int device, int tilePixels) : device_(device), pixels_(tilePixels) {
    DeviceScope on(device_);
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    CU(cudaMalloc(&tile_, sizeof(float4) * pixels_));
  }
  ~WorkerGpu() {
    DeviceScope on(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(tile_);
    cudaEventDestroy(sent_);
    cudaStreamDestroy(stream_);
  }
  WorkerGpu(const WorkerGpu&) = delete;

  void render(int frame, int tileIndex) {
    DeviceScope on(device_);
    shadeTile<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(tile_, pixels_, frame, tileIndex);
    CU(cudaGetLastError());
  }

  // Puts the tile into `inbox` on `target`; the returned event fires when it has arrived.
  cudaEvent_t sendTo(int target, float4* inbox) {
    CU(cudaMemcpyPeerAsync(inbox, target, tile_, device_, sizeof(float4) * pixels_, stream_));
    CU(cudaEventRecord(sent_, stream_));
    return sent_;
  }

 private:
  int device_, pixels_;
  cudaStream_t stream_{};
  cudaEvent_t sent_{};
  float4* tile_ = nullptr;
};

class DisplayGpu {
 public:
  DisplayGpu(int device, int tilePixels, int tiles) : device_(device), pixels_(tilePixels), tiles_(tiles) {
    DeviceScope on(device_);
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU(cudaMalloc(&inbox_, sizeof(float4) * pixels_));
    CU(cudaMalloc(&frame_, sizeof(float4) * pixels_ * tiles_));
    CU(cudaMemsetAsync(frame_, 0, sizeof(float4) * pixels_ * tiles_, stream_));
  }
  ~DisplayGpu() {
    DeviceScope on(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(inbox_);
    cudaFree(frame_);
    cudaStreamDestroy(stream_);
  }
  DisplayGpu(const DisplayGpu&) = delete;

  void blend(int tileIndex, cudaEvent_t arrived) {
    DeviceScope on(device_);
    CU(cudaStreamWaitEvent(stream_, arrived, 0));
    blendTile<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(frame_, inbox_, pixels_, tileIndex * pixels_);
    CU(cudaGetLastError());
  }

  void present(std::vector<float4>& out) {
    DeviceScope on(device_);
    out.resize(size_t(pixels_) * tiles_);
    CU(cudaMemcpyAsync(out.data(), frame_, out.size() * sizeof(float4), cudaMemcpyDeviceToHost, stream_));
    CU(cudaStreamSynchronize(stream_));
  }

  int device() const { return device_; }
  float4* inbox() const { return inbox_; }

 private:
  int device_, pixels_, tiles_;
  cudaStream_t stream_{};
  float4* inbox_ = nullptr;
  float4* frame_ = nullptr;
};

int main() {
  int devices = 0;
  CU(cudaGetDeviceCount(&devices));
  if (devices < 2) return std::puts("needs two GPUs"), 0;

  const int tilePixels = 256 * 256, tiles = 16;
  DisplayGpu display(0, tilePixels, tiles);
  WorkerGpu worker(1, tilePixels);
  std::vector<float4> image;
  for (int frame = 0; frame < 60; ++frame) {
    for (int t = 0; t < tiles; ++t) {
      worker.render(frame, t);
      cudaEvent_t arrived = worker.sendTo(display.device(), display.inbox());
      display.blend(t, arrived);
    }
    display.present(image);
  }
  std::printf("%f\n", image[0].x);
  return 0;
}

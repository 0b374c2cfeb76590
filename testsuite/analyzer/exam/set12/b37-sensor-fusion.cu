// Perception front end: lidar, radar and camera are preprocessed on streams of their own, a fusion stage
// projects all three into one bird's-eye-view grid.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace perception {

inline void verify(cudaError_t code, const char* expression) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(expression) + ": " + cudaGetErrorString(code));
}
#define VERIFY(expr) ::perception::verify((expr), #expr)

constexpr int kCells = 512 * 512;

__global__ void clear_layer(float* layer) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCells) layer[i] = 0.f;
}

__global__ void scatter_returns(const float4* points, int count, float* layer, float weight) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int x = static_cast<int>(points[i].x * 4.f) + 256;
  int y = static_cast<int>(points[i].y * 4.f) + 256;
  if (x >= 0 && x < 512 && y >= 0 && y < 512) atomicAdd(layer + y * 512 + x, weight * points[i].w);
}

__global__ void fuse_layers(const float* a, const float* b, const float* c, float* grid) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCells) grid[i] = 0.9f * grid[i] + a[i] + b[i] + c[i];
}

struct Measurement {
  const float4* device_points;
  int count;
};

class SensorLane {
 public:
  explicit SensorLane(float weight) : weight_(weight) {
    VERIFY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    VERIFY(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    VERIFY(cudaMalloc(&layer_, kCells * sizeof(float)));
  }
  ~SensorLane() {
    cudaStreamSynchronize(stream_);
    cudaFree(layer_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stream_);
  }
  SensorLane(const SensorLane&) = delete;
  SensorLane& operator=(const SensorLane&) = delete;

  void process(const Measurement& m, cudaEvent_t layer_free) {
    VERIFY(cudaStreamWaitEvent(stream_, layer_free, 0));
    clear_layer<<<kCells / 256, 256, 0, stream_>>>(layer_);
    if (m.count > 0) scatter_returns<<<(m.count + 255) / 256, 256, 0, stream_>>>(m.device_points, m.count, layer_, weight_);
    VERIFY(cudaGetLastError());
    VERIFY(cudaEventRecord(ready_, stream_));
  }

  cudaEvent_t ready() const { return ready_; }
  const float* layer() const { return layer_; }

 private:
  float weight_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  float* layer_ = nullptr;
};

class FusionStage {
 public:
  FusionStage() {
    VERIFY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    VERIFY(cudaEventCreateWithFlags(&fused_, cudaEventDisableTiming));
    VERIFY(cudaMalloc(&grid_, kCells * sizeof(float)));
    VERIFY(cudaMemsetAsync(grid_, 0, kCells * sizeof(float), stream_));
  }
  ~FusionStage() {
    cudaStreamSynchronize(stream_);
    cudaFree(grid_);
    cudaEventDestroy(fused_);
    cudaStreamDestroy(stream_);
  }
  FusionStage(const FusionStage&) = delete;
  FusionStage& operator=(const FusionStage&) = delete;

  void depends_on(cudaEvent_t event) { VERIFY(cudaStreamWaitEvent(stream_, event, 0)); }

  void fuse(const float* lidar, const float* radar, const float* camera) {
    fuse_layers<<<kCells / 256, 256, 0, stream_>>>(lidar, radar, camera, grid_);
    VERIFY(cudaGetLastError());
    VERIFY(cudaEventRecord(fused_, stream_));
  }

  cudaEvent_t fused() const { return fused_; }

  void snapshot(float* pinned_grid) {
    VERIFY(cudaMemcpyAsync(pinned_grid, grid_, kCells * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    VERIFY(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t fused_ = nullptr;
  float* grid_ = nullptr;
};

struct Frame {
  Measurement lidar, radar, camera;
};

class Pipeline {
 public:
  void tick(const Frame& frame) {
    link_inputs();
    lidar_.process(frame.lidar, fusion_.fused());
    radar_.process(frame.radar, fusion_.fused());
    camera_.process(frame.camera, fusion_.fused());
    fusion_.fuse(lidar_.layer(), radar_.layer(), camera_.layer());
  }

  void snapshot(float* pinned_grid) { fusion_.snapshot(pinned_grid); }

 private:
  // Fusion must see this frame's layers of all three sensors.
  void link_inputs() {
    for (const SensorLane* lane : {&lidar_, &radar_, &camera_}) fusion_.depends_on(lane->ready());
  }

  SensorLane lidar_{1.0f};
  SensorLane radar_{0.5f};
  SensorLane camera_{0.25f};
  FusionStage fusion_;
};

void build_map(const std::vector<Frame>& drive, float* pinned_grid) {
  Pipeline pipeline;
  for (const Frame& frame : drive) pipeline.tick(frame);
  pipeline.snapshot(pinned_grid);
}

}  // namespace perception

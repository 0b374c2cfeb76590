#include <cuda_runtime.h>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(call) do { cudaError_t st = (call); if (st != cudaSuccess) { \
  std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(st)); std::exit(2); } } while (false)

namespace lidar {

struct Return { uint16_t range_mm4; uint8_t intensity; uint8_t ring; };

__global__ void deskew(const Return* raw, float4* cloud, int n, float yaw0, float yaw_rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r = raw[i].range_mm4 * 0.004f;
  float az = yaw0 + yaw_rate * i;
  float el = (raw[i].ring - 32) * 0.007f;
  cloud[i] = make_float4(r * cosf(el) * cosf(az), r * cosf(el) * sinf(az), r * sinf(el), raw[i].intensity);
}

/// Turns raw sweeps into a point cloud that the caller copies out with export_to().
class DeskewStage {
 public:
  explicit DeskewStage(int max_points) : capacity_(max_points) {
    CUDA_OK(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    CUDA_OK(cudaMalloc(&cloud_, capacity_ * sizeof(float4)));
  }
  ~DeskewStage() {
    cudaDeviceSynchronize();
    cudaFree(cloud_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stage_);
  }
  DeskewStage(const DeskewStage&) = delete;
  DeskewStage& operator=(const DeskewStage&) = delete;

  void run(const Return* sweep, int n, float yaw0) {
    assert(n <= capacity_ && !shared_);
    deskew<<<(n + 255) / 256, 256, 0, stage_>>>(sweep, cloud_, n, yaw0, 6.2831853f / n);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaEventRecord(ready_, stage_));
    points_ = n;
    shared_ = true;
  }

  int export_to(float4* dst, cudaStream_t user) {
    CUDA_OK(cudaStreamWaitEvent(user, ready_, 0));
    CUDA_OK(cudaMemcpyAsync(dst, cloud_, points_ * sizeof(float4), cudaMemcpyDeviceToDevice, user));
    return points_;
  }

  void release() { shared_ = false; }

 private:
  int capacity_;
  int points_ = 0;
  bool shared_ = false;
  cudaStream_t stage_{};
  cudaEvent_t ready_{};
  float4* cloud_ = nullptr;
};

__global__ void ground_height(const float4* cloud, int n, float* cell, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = (static_cast<int>(fabsf(cloud[i].x) * 4.f) * 31 + static_cast<int>(fabsf(cloud[i].y) * 4.f)) % cells;
  atomicAdd(&cell[c], cloud[i].z);
}

}  // namespace lidar

int main() {
  constexpr int kPoints = 131072, kSweeps = 50, kCells = 4096;
  cudaStream_t user;
  CUDA_OK(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking));
  lidar::Return* sweeps = nullptr;
  float4* mine = nullptr;
  float* cells = nullptr;
  CUDA_OK(cudaMalloc(&sweeps, sizeof(lidar::Return) * kPoints * kSweeps));
  CUDA_OK(cudaMalloc(&mine, sizeof(float4) * kPoints));
  CUDA_OK(cudaMalloc(&cells, sizeof(float) * kCells));
  CUDA_OK(cudaMemset(sweeps, 0x3c, sizeof(lidar::Return) * kPoints * kSweeps));
  CUDA_OK(cudaMemset(cells, 0, sizeof(float) * kCells));
  CUDA_OK(cudaDeviceSynchronize());

  std::vector<float> host(kCells);
  {
    lidar::DeskewStage stage(kPoints);
    for (int s = 0; s < kSweeps; ++s) {
      stage.run(sweeps + static_cast<size_t>(s) * kPoints, kPoints, 0.01f * s);
      int n = stage.export_to(mine, user);
      lidar::ground_height<<<(n + 255) / 256, 256, 0, user>>>(mine, n, cells, kCells);
      CUDA_OK(cudaGetLastError());
      stage.release();
    }
    CUDA_OK(cudaMemcpyAsync(host.data(), cells, sizeof(float) * kCells, cudaMemcpyDeviceToHost, user));
    CUDA_OK(cudaStreamSynchronize(user));
  }
  std::printf("cell[0]=%f\n", host[0]);
  cudaFree(cells); cudaFree(mine); cudaFree(sweeps);
  cudaStreamDestroy(user);
  return 0;
}

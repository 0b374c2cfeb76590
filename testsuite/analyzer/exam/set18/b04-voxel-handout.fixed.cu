// Lidar voxelizer. The stage works on its own stream and hands each occupancy
// grid to a subscriber, who receives a copy ordered on the subscriber's stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK_CUDA(x) check((x), #x, __LINE__)
inline void check(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
  std::exit(1);
}

struct Point {
  float x, y, z;
};

__global__ void clearGrid(unsigned* grid, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grid[i] = 0u;
}

__global__ void splat(const Point* pts, int n, unsigned* grid, int side, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = min(max(int(pts[i].x * scale) + side / 2, 0), side - 1);
  int y = min(max(int(pts[i].y * scale) + side / 2, 0), side - 1);
  atomicAdd(&grid[y * side + x], 1u);
}

__global__ void scoreColumns(const unsigned* grid, float* score, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) score[i] += logf(1.0f + grid[i]);
}

class Voxelizer {
 public:
  Voxelizer(int side, float scale) : side_(side), scale_(scale) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&grid_, bytes()));
  }
  ~Voxelizer() {
    cudaDeviceSynchronize();
    cudaFree(grid_);
    cudaEventDestroy(copied_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stage_);
  }
  Voxelizer(const Voxelizer&) = delete;
  Voxelizer& operator=(const Voxelizer&) = delete;

  int cells() const { return side_ * side_; }
  size_t bytes() const { return sizeof(unsigned) * cells(); }

  // `sweep` is device memory that stays constant while the log is processed.
  void run(const Point* sweep, int n) {
    clearGrid<<<(cells() + 255) / 256, 256, 0, stage_>>>(grid_, cells());
    CHECK_CUDA(cudaGetLastError());
    splat<<<(n + 255) / 256, 256, 0, stage_>>>(sweep, n, grid_, side_, scale_);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(ready_, stage_));
  }

  // Enqueues a copy of the latest grid on `user`. The call does not block.
  void copyTo(unsigned* dst, cudaStream_t user) {
    CHECK_CUDA(cudaStreamWaitEvent(user, ready_, 0));
    CHECK_CUDA(cudaMemcpyAsync(dst, grid_, bytes(), cudaMemcpyDeviceToDevice, user));
    CHECK_CUDA(cudaEventRecord(copied_, user));
    CHECK_CUDA(cudaStreamWaitEvent(stage_, copied_, 0));
  }

 private:
  int side_;
  float scale_;
  cudaStream_t stage_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  cudaEvent_t copied_ = nullptr;
  unsigned* grid_ = nullptr;
};

class ColumnScorer {
 public:
  explicit ColumnScorer(Voxelizer& source) : source_(source) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&snapshot_, source_.bytes()));
    CHECK_CUDA(cudaMalloc(&score_, sizeof(float) * source_.cells()));
    CHECK_CUDA(cudaMemsetAsync(score_, 0, sizeof(float) * source_.cells(), stream_));
  }
  ~ColumnScorer() {
    cudaStreamSynchronize(stream_);
    cudaFree(score_);
    cudaFree(snapshot_);
    cudaStreamDestroy(stream_);
  }
  ColumnScorer(const ColumnScorer&) = delete;
  ColumnScorer& operator=(const ColumnScorer&) = delete;

  void consume() {
    source_.copyTo(snapshot_, stream_);
    int n = source_.cells();
    scoreColumns<<<(n + 255) / 256, 256, 0, stream_>>>(snapshot_, score_, n);
    CHECK_CUDA(cudaGetLastError());
  }

  std::vector<float> result() {
    std::vector<float> out(source_.cells());
    CHECK_CUDA(cudaStreamSynchronize(stream_));
    CHECK_CUDA(cudaMemcpy(out.data(), score_, sizeof(float) * out.size(), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  Voxelizer& source_;
  cudaStream_t stream_ = nullptr;
  unsigned* snapshot_ = nullptr;
  float* score_ = nullptr;
};

// Scores a whole drive; sweeps are resident on the device.
std::vector<float> scoreDrive(const std::vector<const Point*>& sweeps, int pointsPerSweep) {
  Voxelizer voxelizer(512, 4.0f);
  ColumnScorer scorer(voxelizer);
  for (const Point* sweep : sweeps) {
    voxelizer.run(sweep, pointsPerSweep);
    scorer.consume();
  }
  return scorer.result();
}

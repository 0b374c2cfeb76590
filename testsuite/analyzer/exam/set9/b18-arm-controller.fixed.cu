// Control loop of a robot arm. The torque computation of one cycle is captured
// into a graph and replayed at 1 kHz; trajectories are loaded in between.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

#define ARM(call)                                                             \
  do {                                                                        \
    const cudaError_t rc_ = (call);                                           \
    if (rc_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "arm:%d: %s\n", __LINE__, cudaGetErrorString(rc_)); \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

constexpr int kJoints = 7;
constexpr int kPoints = 512;

// Pinned blocks for small uploads.
class StagingPool {
 public:
  explicit StagingPool(int blocks) {
    for (int i = 0; i < blocks; ++i) {
      float* p = nullptr;
      ARM(cudaMallocHost(&p, kPoints * kJoints * sizeof(float)));
      all_.push_back(p);
      free_.push_back(p);
    }
  }
  ~StagingPool() {
    for (float* p : all_) ARM(cudaFreeHost(p));
  }
  float* take() {
    if (free_.empty()) {
      std::fprintf(stderr, "arm: staging pool is empty\n");
      std::exit(1);
    }
    float* p = free_.front();
    free_.pop_front();
    return p;
  }
  void give(float* p) { free_.push_front(p); }

 private:
  std::vector<float*> all_;
  std::deque<float*> free_;
};

class Lease {
 public:
  explicit Lease(StagingPool& pool) : pool_(&pool), block_(pool.take()) {}
  Lease(Lease&& o) noexcept : pool_(o.pool_), block_(std::exchange(o.block_, nullptr)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (block_) pool_->give(block_);
  }
  float* get() const { return block_; }

 private:
  StagingPool* pool_;
  float* block_;
};

__global__ void torque(const float* gains, const float* path, int* cursor, float* out) {
  const int j = threadIdx.x;
  const int at = *cursor;
  if (j < kJoints) out[j] = gains[j] * path[at * kJoints + j];
  __syncthreads();
  if (j == 0) *cursor = (at + 1) % kPoints;
}

class Controller {
 public:
  explicit Controller(StagingPool& pool) : pool_(pool) {
    ARM(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ARM(cudaMalloc(&gains_, kJoints * sizeof(float)));
    ARM(cudaMalloc(&path_, kPoints * kJoints * sizeof(float)));
    ARM(cudaMalloc(&torque_, kJoints * sizeof(float)));
    ARM(cudaMalloc(&cursor_, sizeof(int)));
    ARM(cudaMemsetAsync(cursor_, 0, sizeof(int), stream_));
  }
  ~Controller() {
    ARM(cudaStreamSynchronize(stream_));
    if (cycle_) ARM(cudaGraphExecDestroy(cycle_));
    ARM(cudaFree(gains_));
    ARM(cudaFree(path_));
    ARM(cudaFree(torque_));
    ARM(cudaFree(cursor_));
    ARM(cudaStreamDestroy(stream_));
  }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Captures one cycle: gains are refreshed, then the torques are computed.
  void build(float stiffness) {
    cudaGraph_t graph = nullptr;
    ARM(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    refresh_gains(stiffness);
    torque<<<1, 32, 0, stream_>>>(gains_, path_, cursor_, torque_);
    ARM(cudaStreamEndCapture(stream_, &graph));
    ARM(cudaGraphInstantiate(&cycle_, graph, 0));
    ARM(cudaGraphDestroy(graph));
  }

  void load_path(float speed) {
    Lease points(pool_);
    for (int i = 0; i < kPoints * kJoints; ++i) points.get()[i] = speed * static_cast<float>(i % kPoints);
    ARM(cudaMemcpyAsync(path_, points.get(), kPoints * kJoints * sizeof(float), cudaMemcpyHostToDevice, stream_));
    ARM(cudaStreamSynchronize(stream_));
  }

  void run_cycle(float* out) {
    ARM(cudaGraphLaunch(cycle_, stream_));
    ARM(cudaMemcpyAsync(out, torque_, kJoints * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ARM(cudaStreamSynchronize(stream_));
  }

 private:
  void refresh_gains(float stiffness) {
    Lease staged(pool_);
    for (int j = 0; j < kJoints; ++j) staged.get()[j] = stiffness / static_cast<float>(j + 1);
    ARM(cudaMemcpyAsync(gains_, staged.get(), kJoints * sizeof(float), cudaMemcpyHostToDevice, stream_));
    cudaStreamCaptureStatus status;
    ARM(cudaStreamIsCapturing(stream_, &status));
    if (status == cudaStreamCaptureStatusNone)
      ARM(cudaStreamSynchronize(stream_));
    else
      captured_.push_back(std::move(staged));
  }

  StagingPool& pool_;
  std::vector<Lease> captured_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t cycle_ = nullptr;
  float *gains_ = nullptr, *path_ = nullptr, *torque_ = nullptr;
  int* cursor_ = nullptr;
};

int main() {
  StagingPool pool(2);
  Controller arm(pool);
  arm.build(40.f);
  float out[kJoints];
  for (int lap = 0; lap < 4; ++lap) {
    arm.load_path(0.1f * static_cast<float>(lap + 1));
    for (int i = 0; i < kPoints; ++i) arm.run_cycle(out);
    std::printf("lap %d: torque[0] %.4f\n", lap, static_cast<double>(out[0]));
  }
  return 0;
}

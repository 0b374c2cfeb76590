// Evaluates candidate trajectories of a robot arm.
//
// The planner produces a list of joint waypoints per control cycle; the CPU part of
// the stage packs them, the GPU part uploads and scores them.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define GPU_OK(...)                                                                                          \
  do {                                                                                                       \
    cudaError_t e__ = (__VA_ARGS__);                                                                         \
    if (e__ != cudaSuccess) throw std::runtime_error(std::string(#__VA_ARGS__) + ": " + cudaGetErrorString(e__)); \
  } while (0)

constexpr int kJoints = 7;

struct Waypoint {
  float q[kJoints];
};

__global__ void score(const Waypoint* way, int n, float* best) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float cost = 0.0f;
  for (int j = 0; j < kJoints; ++j) cost += way[i].q[j] * way[i].q[j];
  atomicMin(reinterpret_cast<int*>(best), __float_as_int(cost));
}

__global__ void start_cycle(float* best) { *best = 3.0e38f; }

class Stage {
 public:
  explicit Stage(int capacity) : capacity_(capacity) {
    GPU_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU_OK(cudaEventCreateWithFlags(&scored_, cudaEventDisableTiming));
    GPU_OK(cudaHostAlloc(&packed_, capacity * sizeof(Waypoint), cudaHostAllocDefault));
    GPU_OK(cudaMalloc(&waypoints_, capacity * sizeof(Waypoint)));
  }
  ~Stage() {
    cudaStreamSynchronize(stream_);
    cudaFree(waypoints_);
    cudaFreeHost(packed_);
    cudaEventDestroy(scored_);
    cudaStreamDestroy(stream_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // CPU part.
  void pack(const std::vector<Waypoint>& candidates) {
    count_ = static_cast<int>(std::min<size_t>(candidates.size(), capacity_));
    for (int i = 0; i < count_; ++i) packed_[i] = candidates[i];
  }

  // GPU part; *best is device memory.
  void run(float* best) {
    GPU_OK(cudaMemcpyAsync(waypoints_, packed_, count_ * sizeof(Waypoint), cudaMemcpyHostToDevice, stream_));
    start_cycle<<<1, 1, 0, stream_>>>(best);
    score<<<(count_ + 127) / 128, 128, 0, stream_>>>(waypoints_, count_, best);
    GPU_OK(cudaGetLastError());
    GPU_OK(cudaEventRecord(scored_, stream_));
  }

  void finish() { GPU_OK(cudaEventSynchronize(scored_)); }

 private:
  int capacity_;
  int count_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t scored_ = nullptr;
  Waypoint* packed_ = nullptr;
  Waypoint* waypoints_ = nullptr;
};

std::vector<Waypoint> sample_candidates(int cycle, int n) {
  std::vector<Waypoint> out(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < kJoints; ++j) out[i].q[j] = std::sin(0.01f * (cycle + 1) * (i + 1) + j);
  return out;
}

int main() {
  constexpr int kCycles = 200;
  constexpr int kCandidates = 4096;

  Stage stage(kCandidates);
  float* best = nullptr;
  GPU_OK(cudaMalloc(&best, kCycles * sizeof(float)));

  for (int cycle = 0; cycle < kCycles; ++cycle) {
    stage.pack(sample_candidates(cycle, kCandidates));
    stage.run(best + cycle);
  }
  stage.finish();

  std::vector<float> costs(kCycles);
  GPU_OK(cudaMemcpy(costs.data(), best, kCycles * sizeof(float), cudaMemcpyDeviceToHost));
  GPU_OK(cudaFree(best));
  std::printf("cheapest waypoint costs %.4f\n", *std::min_element(costs.begin(), costs.end()));
  return 0;
}

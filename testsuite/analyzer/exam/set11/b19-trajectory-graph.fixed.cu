// Sampling-based motion planner. The rollout of one control step is captured
// as a graph the first time it is needed.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define CHECK_CUDA(call)                                                          \
  do {                                                                            \
    cudaError_t e = (call);                                                       \
    if (e != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s at line %d: %s\n", #call, __LINE__, cudaGetErrorString(e)); \
      std::exit(EXIT_FAILURE);                                                    \
    }                                                                             \
  } while (0)

namespace planner {

constexpr int kHorizon = 32;

__global__ void sample_controls(float* controls, int samples, const unsigned* seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples * kHorizon) return;
  unsigned x = *seed + 747796405u * i;
  x ^= x >> 16;
  controls[i] = (x & 0xffffu) / 65535.f - 0.5f;
}

__global__ void roll_out(const float* controls, int samples, float* costs) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= samples) return;
  float heading = 0.f, cost = 0.f;
  for (int t = 0; t < kHorizon; ++t) {
    heading += controls[s * kHorizon + t];
    cost += heading * heading;
  }
  costs[s] = cost;
}

__global__ void next_seed(unsigned* seed) { *seed = *seed * 1664525u + 1013904223u; }

class RolloutPlanner {
 public:
  explicit RolloutPlanner(int samples) : samples_(samples) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&controls_), control_bytes(), stream_));
    CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&costs_), sizeof(float) * samples_));
    CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&seed_), sizeof(unsigned)));
    CHECK_CUDA(cudaMemsetAsync(seed_, 1, sizeof(unsigned), stream_));
  }
  ~RolloutPlanner() {
    CHECK_CUDA(cudaFreeAsync(controls_, stream_));
    CHECK_CUDA(cudaStreamSynchronize(stream_));
    if (exec_) CHECK_CUDA(cudaGraphExecDestroy(exec_));
    CHECK_CUDA(cudaFree(costs_));
    CHECK_CUDA(cudaFree(seed_));
    CHECK_CUDA(cudaStreamDestroy(stream_));
  }
  RolloutPlanner(const RolloutPlanner&) = delete;
  RolloutPlanner& operator=(const RolloutPlanner&) = delete;

  /// One control step: the costs of all samples, in stream order.
  void step() {
    if (!exec_) build(controls_);
    CHECK_CUDA(cudaGraphLaunch(exec_, stream_));
  }

  /// Cheapest sample of the last step.
  int best(float* host_costs) {
    CHECK_CUDA(cudaMemcpyAsync(host_costs, costs_, sizeof(float) * samples_, cudaMemcpyDeviceToHost, stream_));
    CHECK_CUDA(cudaStreamSynchronize(stream_));
    int best = 0;
    for (int s = 1; s < samples_; ++s) {
      if (host_costs[s] < host_costs[best]) best = s;
    }
    return best;
  }

 private:
  std::size_t control_bytes() const { return sizeof(float) * samples_ * kHorizon; }

  void build(float* controls) {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    sample_controls<<<(samples_ * kHorizon + 255) / 256, 256, 0, stream_>>>(controls, samples_, seed_);
    roll_out<<<(samples_ + 255) / 256, 256, 0, stream_>>>(controls, samples_, costs_);
    next_seed<<<1, 1, 0, stream_>>>(seed_);
    CHECK_CUDA(cudaStreamEndCapture(stream_, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec_, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
  }

  int samples_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float* controls_ = nullptr;
  float* costs_ = nullptr;
  unsigned* seed_ = nullptr;
};

}  // namespace planner

int main() {
  constexpr int kSamples = 4096;
  float* host_costs = nullptr;
  CHECK_CUDA(cudaMallocHost(reinterpret_cast<void**>(&host_costs), sizeof(float) * kSamples));
  {
    planner::RolloutPlanner planner(kSamples);
    for (int i = 0; i < 50; ++i) {
      planner.step();
      if (i % 10 == 9) std::printf("step %d: sample %d\n", i, planner.best(host_costs));
    }
  }
  CHECK_CUDA(cudaFreeHost(host_costs));
  return 0;
}

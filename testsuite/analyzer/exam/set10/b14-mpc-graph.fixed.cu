// Model-predictive controller: the rollout is captured once and replayed each control period.
#include <cuda_runtime.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpc {

#define MPC_CUDA(x) ::mpc::raise_on((x), #x)
inline void raise_on(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Page-locked blocks of one size; the most recently returned one is handed out first.
class StagingPool {
 public:
  explicit StagingPool(size_t bytes) : bytes_(bytes) {}
  ~StagingPool() {
    for (void* p : all_) cudaFreeHost(p);
  }
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  void* acquire() {
    if (idle_.empty()) {
      void* p = nullptr;
      MPC_CUDA(cudaMallocHost(&p, bytes_));
      all_.push_back(p);
      return p;
    }
    void* p = idle_.back();
    idle_.pop_back();
    return p;
  }
  void release(void* p) { idle_.push_back(p); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::vector<void*> idle_, all_;
};

struct Limits {
  float torque_max;
  float speed_max;
  float jerk_max;
  float weights[61];
};

__global__ void rollout(const float* state, const Limits* lim, const float* reference, float* cost, int horizon) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  float x = state[0], u = 0.f, sum = 0.f;
  for (int t = 0; t < horizon; ++t) {
    u = fminf(lim->torque_max, fmaxf(-lim->torque_max, u + lim->jerk_max * (0.001f * k - 0.5f)));
    x += fminf(u, lim->speed_max) * 0.01f;
    float e = x - reference[t];
    sum += lim->weights[t % 61] * e * e;
  }
  cost[k] = sum;
}

class Controller {
 public:
  static constexpr int kSamples = 4096;
  static constexpr int kHorizon = 64;

  Controller(StagingPool& pool, const Limits& limits) : pool_(pool) {
    MPC_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MPC_CUDA(cudaMalloc(&state_, sizeof(float)));
    MPC_CUDA(cudaMalloc(&limits_, sizeof(Limits)));
    MPC_CUDA(cudaMalloc(&reference_, kHorizon * sizeof(float)));
    MPC_CUDA(cudaMalloc(&cost_, kSamples * sizeof(float)));
    MPC_CUDA(cudaMemsetAsync(state_, 0, sizeof(float), stream_));
    MPC_CUDA(cudaMemsetAsync(reference_, 0, kHorizon * sizeof(float), stream_));
    build_graph(limits);
  }

  ~Controller() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    for (void* p : {(void*)state_, (void*)limits_, (void*)reference_, (void*)cost_}) cudaFree(p);
    cudaStreamDestroy(stream_);
    if (captured_) pool_.release(captured_);
  }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // New reference trajectory, effective from the next period on.
  void set_reference(const std::vector<float>& ref) {
    void* block = pool_.acquire();
    std::memcpy(block, ref.data(), kHorizon * sizeof(float));
    MPC_CUDA(cudaMemcpyAsync(reference_, block, kHorizon * sizeof(float), cudaMemcpyHostToDevice, stream_));
    MPC_CUDA(cudaStreamSynchronize(stream_));
    pool_.release(block);
  }

  // Starts the rollouts of one control period.
  void start() {
    MPC_CUDA(cudaGraphLaunch(exec_, stream_));
  }

  // Costs of all sampled input sequences of the period that was started last.
  void collect(std::vector<float>& costs) {
    costs.resize(kSamples);
    MPC_CUDA(cudaMemcpyAsync(costs.data(), cost_, kSamples * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    MPC_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  void build_graph(const Limits& limits) {
    void* block = pool_.acquire();
    std::memcpy(block, &limits, sizeof(Limits));
    cudaGraph_t graph = nullptr;
    MPC_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    MPC_CUDA(cudaMemcpyAsync(limits_, block, sizeof(Limits), cudaMemcpyHostToDevice, stream_));
    rollout<<<kSamples / 128, 128, 0, stream_>>>(state_, limits_, reference_, cost_, kHorizon);
    MPC_CUDA(cudaStreamEndCapture(stream_, &graph));
    MPC_CUDA(cudaGraphInstantiate(&exec_, graph, 0));
    MPC_CUDA(cudaGraphDestroy(graph));
    captured_ = block;
  }

  StagingPool& pool_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float *state_ = nullptr, *reference_ = nullptr, *cost_ = nullptr;
  Limits* limits_ = nullptr;
  void* captured_ = nullptr;
};

}  // namespace mpc

// Tracks a slow ramp for a number of control periods.
float track(mpc::StagingPool& pool, const mpc::Limits& limits, int periods) {
  mpc::Controller ctl(pool, limits);
  std::vector<float> ref(mpc::Controller::kHorizon), costs;
  float best = 1e30f;
  for (int i = 0; i < periods; ++i) {
    ctl.start();
    for (size_t t = 0; t < ref.size(); ++t) ref[t] = 0.01f * (i + t);
    ctl.set_reference(ref);
    ctl.collect(costs);
    for (float c : costs) best = c < best ? c : best;
  }
  return best;
}

// Fleet planner: a scheduling stage maintains the slot -> vehicle index, a forward stage evaluates routes with it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define PLAN_GPU(e)                                                                        \
  do {                                                                                     \
    if (auto rc = (e); rc != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));     \
      std::abort();                                                                        \
    }                                                                                      \
  } while (0)

namespace plan {

class Stream {
 public:
  Stream() { PLAN_GPU(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }
  void sync() const { PLAN_GPU(cudaStreamSynchronize(s_)); }

 private:
  cudaStream_t s_{};
};

class Fence {
 public:
  Fence() { PLAN_GPU(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Fence() { cudaEventDestroy(e_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  void signal(const Stream& s) { PLAN_GPU(cudaEventRecord(e_, s)); }
  void awaitOn(const Stream& s) const { PLAN_GPU(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_{};
};

struct PlannerConfig {
  int vehicles = 1 << 14;
  int slots = 1 << 15;
  int horizon = 64;
};

// State of the pipeline, handed to the stages by reference.
struct PlannerState {
  explicit PlannerState(const PlannerConfig& c) : config(c) {
    PLAN_GPU(cudaMalloc(&slotToVehicle, c.slots * sizeof(int)));
    PLAN_GPU(cudaMalloc(&position, c.vehicles * sizeof(float2)));
    PLAN_GPU(cudaMalloc(&cost, c.slots * sizeof(float)));
    PLAN_GPU(cudaMemset(position, 0, c.vehicles * sizeof(float2)));
    PLAN_GPU(cudaMemset(cost, 0, c.slots * sizeof(float)));
    PLAN_GPU(cudaDeviceSynchronize());
  }
  ~PlannerState() {
    cudaDeviceSynchronize();
    cudaFree(slotToVehicle);
    cudaFree(position);
    cudaFree(cost);
  }
  PlannerState(const PlannerState&) = delete;

  PlannerConfig config;
  int* slotToVehicle = nullptr;
  float2* position = nullptr;
  float* cost = nullptr;
  Stream schedule;
  Stream forward;
  Fence indexReady;
  Fence forwardDone;
};

__global__ void assignSlots(int* slotToVehicle, int slots, int vehicles, int tick) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < slots) slotToVehicle[s] = (s * 7919 + tick * 104729) % vehicles;
}

__global__ void evaluateRoutes(const int* slotToVehicle, const float2* position, float* cost, int slots, int horizon) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= slots) return;
  float2 p = position[slotToVehicle[s]];
  float acc = 0.f;
  for (int h = 0; h < horizon; ++h) {
    acc += __fsqrt_rn(p.x * p.x + p.y * p.y + h);
    p.x += 0.1f;
  }
  cost[s] = acc;
}

__global__ void moveVehicles(const int* slotToVehicle, const float* cost, float2* position, int slots) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < slots) atomicAdd(&position[slotToVehicle[s]].x, 1e-3f * cost[s]);
}

class ScheduleStage {
 public:
  void run(PlannerState& st, int tick) {
    st.forwardDone.awaitOn(st.schedule);
    assignSlots<<<(st.config.slots + 255) / 256, 256, 0, st.schedule>>>(st.slotToVehicle, st.config.slots,
                                                                        st.config.vehicles, tick);
    PLAN_GPU(cudaGetLastError());
    st.indexReady.signal(st.schedule);
  }
};

class ForwardStage {
 public:
  void run(PlannerState& st) {
    st.indexReady.awaitOn(st.forward);
    const int grid = (st.config.slots + 127) / 128;
    evaluateRoutes<<<grid, 128, 0, st.forward>>>(st.slotToVehicle, st.position, st.cost, st.config.slots,
                                                 st.config.horizon);
    moveVehicles<<<grid, 128, 0, st.forward>>>(st.slotToVehicle, st.cost, st.position, st.config.slots);
    PLAN_GPU(cudaGetLastError());
    st.forwardDone.signal(st.forward);
  }
};

// Runs the schedule stage of tick t+1 while the forward stage of tick t is in flight.
class OverlappedPlanner {
 public:
  explicit OverlappedPlanner(const PlannerConfig& config) : state_(config) {}

  void run(int ticks) {
    for (int t = 0; t < ticks; ++t) {
      schedule_.run(state_, t);
      forward_.run(state_);
    }
  }

  std::vector<float> costs() {
    std::vector<float> host(state_.config.slots);
    PLAN_GPU(cudaMemcpyAsync(host.data(), state_.cost, host.size() * sizeof(float), cudaMemcpyDeviceToHost,
                             state_.forward));
    state_.forward.sync();
    return host;
  }

 private:
  PlannerState state_;
  ScheduleStage schedule_;
  ForwardStage forward_;
};

}  // namespace plan

int main() {
  plan::OverlappedPlanner planner(plan::PlannerConfig{});
  planner.run(50);
  std::printf("cost[0] = %f\n", planner.costs().front());
  return 0;
}

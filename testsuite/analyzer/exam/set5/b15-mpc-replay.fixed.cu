#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace mpc {

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kRollouts = 16384;
constexpr int kHorizon = 64;

__global__ void rollout(const float4* x0, const float* noise, float* cost, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float4 x = *x0;
  float c = 0.f;
  for (int k = 0; k < kHorizon; ++k) {
    float u = noise[k * n + r];
    x.z += 0.02f * u;
    x.x += 0.02f * x.z;
    c += x.x * x.x + 0.1f * u * u;
  }
  cost[r] = c;
}

__global__ void blend(const float* noise, const float* cost, float* plan, int n) {
  int k = blockIdx.x;
  float num = 0.f, den = 0.f;
  for (int r = 0; r < n; ++r) {
    float w = __expf(-0.5f * cost[r]);
    num += w * noise[k * n + r];
    den += w;
  }
  if (threadIdx.x == 0) plan[k] = num / (den + 1e-12f);
}

__global__ void integrate(float4* x0, const float* plan) {
  x0->z += 0.02f * plan[0];
  x0->x += 0.02f * x0->z;
}

// One control cycle recorded as a graph. Result: plan(), kHorizon floats on the device.
class PlannerGraph {
 public:
  PlannerGraph(const float* noise, cudaStream_t s) : noise_(noise), stream_(s) {
    check(cudaMalloc(&x0_, sizeof(float4)));
    check(cudaMalloc(&cost_, sizeof(float) * kRollouts));
    check(cudaMalloc(&plan_, sizeof(float) * kHorizon));
    check(cudaMemsetAsync(x0_, 0, sizeof(float4), s));
    cudaGraph_t g;
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    enqueue();
    check(cudaStreamEndCapture(s, &g));
    check(cudaGraphInstantiate(&exec_, g, 0));
    check(cudaGraphDestroy(g));
  }
  ~PlannerGraph() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(plan_);
    cudaFree(cost_);
    cudaFree(x0_);
  }
  void replay() { check(cudaGraphLaunch(exec_, stream_)); }
  const float* plan() const { return plan_; }
  cudaStream_t stream() const { return stream_; }

 private:
  void enqueue() {
    rollout<<<kRollouts / 128, 128, 0, stream_>>>(x0_, noise_, cost_, kRollouts);
    blend<<<kHorizon, 32, 0, stream_>>>(noise_, cost_, plan_, kRollouts);
    integrate<<<1, 1, 0, stream_>>>(x0_, plan_);
  }

  const float* noise_;
  cudaStream_t stream_;
  float4* x0_ = nullptr;
  float *cost_ = nullptr, *plan_ = nullptr;
  cudaGraphExec_t exec_{};
};

// Keeps every plan of the run for offline inspection.
class FlightRecorder {
 public:
  explicit FlightRecorder(int cycles) : log_(nullptr) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&planned_, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&logged_, cudaEventDisableTiming));
    check(cudaMalloc(&log_, sizeof(float) * kHorizon * cycles));
  }
  ~FlightRecorder() {
    cudaStreamSynchronize(stream_);
    cudaFree(log_);
    cudaEventDestroy(logged_);
    cudaEventDestroy(planned_);
    cudaStreamDestroy(stream_);
  }
  void append(const PlannerGraph& p) {
    check(cudaEventRecord(planned_, p.stream()));
    check(cudaStreamWaitEvent(stream_, planned_, 0));
    check(cudaMemcpyAsync(log_ + kHorizon * used_, p.plan(), sizeof(float) * kHorizon, cudaMemcpyDeviceToDevice, stream_));
    check(cudaEventRecord(logged_, stream_));
    check(cudaStreamWaitEvent(p.stream(), logged_, 0));
    ++used_;
  }
  std::vector<float> dump() const {
    std::vector<float> h(kHorizon * used_);
    check(cudaMemcpyAsync(h.data(), log_, h.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return h;
  }

 private:
  cudaStream_t stream_{};
  cudaEvent_t planned_{}, logged_{};
  float* log_;
  size_t used_ = 0;
};

}  // namespace mpc

int main() {
  using namespace mpc;
  const int cycles = 200;
  cudaStream_t ctl;
  float* noise = nullptr;
  check(cudaStreamCreateWithFlags(&ctl, cudaStreamNonBlocking));
  check(cudaMalloc(&noise, sizeof(float) * kRollouts * kHorizon));
  check(cudaMemsetAsync(noise, 0x3a, sizeof(float) * kRollouts * kHorizon, ctl));
  {
    PlannerGraph planner(noise, ctl);
    FlightRecorder rec(cycles);
    for (int c = 0; c < cycles; ++c) {
      planner.replay();
      rec.append(planner);
    }
    auto plans = rec.dump();
    std::printf("u0 first %f last %f\n", plans[0], plans[plans.size() - kHorizon]);
  }
  cudaFree(noise);
  cudaStreamDestroy(ctl);
}

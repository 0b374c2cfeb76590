// Joint controllers of a simulated robot fleet. Set points are a few kilobytes per
// tick, so the control kernel reads them straight from mapped host memory.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define ROBO(call)                                                                  \
  do {                                                                              \
    cudaError_t e_ = (call);                                                        \
    if (e_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s (%s:%d)\n", cudaGetErrorString(e_), __FILE__, __LINE__); \
      std::exit(2);                                                                 \
    }                                                                               \
  } while (0)

struct JointState {
  float angle;
  float speed;
};

__global__ void controlTick(const float* __restrict__ setpoints, JointState* joints, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  JointState j = joints[i];
  for (int sub = 0; sub < 64; ++sub) {
    const float torque = 40.f * (setpoints[i] - j.angle) - 9.f * j.speed;
    j.speed += dt / 64 * torque;
    j.angle += dt / 64 * j.speed;
  }
  joints[i] = j;
}

// Write-combined, GPU-visible row of set points.
class SetpointBoard {
 public:
  explicit SetpointBoard(int joints) : joints_(joints) {
    ROBO(cudaHostAlloc(&host_, sizeof(float) * joints, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    ROBO(cudaHostGetDevicePointer(&device_, host_, 0));
    ROBO(cudaEventCreateWithFlags(&read_, cudaEventDisableTiming));
  }
  ~SetpointBoard() {
    cudaEventDestroy(read_);
    cudaFreeHost(host_);
  }
  SetpointBoard(const SetpointBoard&) = delete;
  SetpointBoard& operator=(const SetpointBoard&) = delete;

  template <typename Trajectory>
  void post(const Trajectory& trajectory) {
    waitRead();
    for (int i = 0; i < joints_; ++i) host_[i] = trajectory(i);
  }

  const float* device() const { return device_; }
  void markRead(cudaStream_t stream) { ROBO(cudaEventRecord(read_, stream)); }
  void waitRead() const { ROBO(cudaEventSynchronize(read_)); }

 private:
  int joints_;
  float* host_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t read_ = nullptr;
};

class Fleet {
 public:
  explicit Fleet(int joints) : joints_(joints), board_(joints) {
    ROBO(cudaStreamCreate(&stream_));
    ROBO(cudaMalloc(&state_, sizeof(JointState) * joints));
    ROBO(cudaMemsetAsync(state_, 0, sizeof(JointState) * joints, stream_));
  }
  ~Fleet() {
    board_.waitRead();
    cudaFree(state_);
    cudaStreamDestroy(stream_);
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  template <typename Trajectory>
  void tick(const Trajectory& trajectory, float dt) {
    board_.post(trajectory);
    controlTick<<<(joints_ + 127) / 128, 128, 0, stream_>>>(board_.device(), state_, joints_, dt);
    ROBO(cudaGetLastError());
    board_.markRead(stream_);
  }

  std::vector<JointState> states() const {
    std::vector<JointState> out(joints_);
    ROBO(cudaMemcpyAsync(out.data(), state_, sizeof(JointState) * joints_, cudaMemcpyDeviceToHost, stream_));
    ROBO(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  int joints_;
  SetpointBoard board_;
  cudaStream_t stream_ = nullptr;
  JointState* state_ = nullptr;
};

int main() {
  constexpr int kJoints = 7 * 2048;
  constexpr float kDt = 0.002f;
  Fleet fleet(kJoints);
  for (int t = 0; t < 5000; ++t) {
    fleet.tick([t](int joint) { return std::sin(0.001f * t + 0.1f * (joint % 7)); }, kDt);
  }
  double worst = 0.0;
  for (const JointState& j : fleet.states()) worst = std::fmax(worst, std::fabs(j.speed));
  std::printf("max joint speed %.4f rad/s\n", worst);
  return 0;
}

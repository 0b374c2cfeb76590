// Whole-body controller of a robot fleet: each cycle uploads joint setpoints and runs the impedance law.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void ok(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
    std::abort();
  }
}

struct Setpoint {
  float position;
  float velocity;
  float stiffness;
  float damping;
};

__global__ void impedance(const Setpoint* sp, float* pos, float* vel, float dt, int joints) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= joints) return;
  float torque = sp[j].stiffness * (sp[j].position - pos[j]) + sp[j].damping * (sp[j].velocity - vel[j]);
  vel[j] += torque * dt;
  pos[j] += vel[j] * dt;
}

class Trajectory {
 public:
  Trajectory(int joints, float speed) : joints_(joints), speed_(speed) {}
  int joints() const { return joints_; }
  Setpoint at(int joint, float t) const {
    float phase = 0.01f * joint + speed_ * t;
    return {std::sin(phase), speed_ * std::cos(phase), 40.f + joint % 7, 2.f};
  }

 private:
  int joints_;
  float speed_;
};

class SetpointFeed {
 public:
  SetpointFeed(int joints, cudaStream_t stream) : joints_(joints), stream_(stream) {
    ok(cudaMallocHost(&staging_, joints * sizeof(Setpoint)));
    ok(cudaMalloc(&device_, joints * sizeof(Setpoint)));
  }
  ~SetpointFeed() {
    cudaStreamSynchronize(stream_);
    cudaFree(device_);
    cudaFreeHost(staging_);
  }
  SetpointFeed(const SetpointFeed&) = delete;
  SetpointFeed& operator=(const SetpointFeed&) = delete;

  void stage(const Trajectory& traj, float t) {
    for (int j = 0; j < joints_; ++j) staging_[j] = traj.at(j, t);
  }

  const Setpoint* send() {
    ok(cudaMemcpyAsync(device_, staging_, joints_ * sizeof(Setpoint), cudaMemcpyHostToDevice, stream_));
    return device_;
  }

 private:
  int joints_;
  cudaStream_t stream_;
  Setpoint* staging_ = nullptr;
  Setpoint* device_ = nullptr;
};

class Controller {
 public:
  explicit Controller(int joints) : joints_(joints) {
    ok(cudaStreamCreate(&stream_));
    ok(cudaMalloc(&pos_, joints * sizeof(float)));
    ok(cudaMalloc(&vel_, joints * sizeof(float)));
    ok(cudaMemsetAsync(pos_, 0, joints * sizeof(float), stream_));
    ok(cudaMemsetAsync(vel_, 0, joints * sizeof(float), stream_));
  }
  ~Controller() {
    cudaStreamSynchronize(stream_);
    cudaFree(vel_);
    cudaFree(pos_);
    cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }

  void cycle(SetpointFeed& feed, const Trajectory& traj, float t, float dt) {
    feed.stage(traj, t);
    const Setpoint* sp = feed.send();
    impedance<<<(joints_ + 127) / 128, 128, 0, stream_>>>(sp, pos_, vel_, dt, joints_);
    ok(cudaGetLastError());
  }

  std::vector<float> positions() {
    std::vector<float> out(joints_);
    ok(cudaMemcpyAsync(out.data(), pos_, joints_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ok(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  int joints_;
  cudaStream_t stream_ = nullptr;
  float* pos_ = nullptr;
  float* vel_ = nullptr;
};

int main() {
  constexpr int kJoints = 29 * 4096;
  constexpr float kDt = 1e-3f;
  Controller controller(kJoints);
  Trajectory gait(kJoints, 1.7f);
  {
    SetpointFeed feed(kJoints, controller.stream());
    for (int step = 0; step < 2000; ++step) controller.cycle(feed, gait, step * kDt, kDt);
  }
  std::printf("joint 0 at %f\n", controller.positions()[0]);
  return 0;
}

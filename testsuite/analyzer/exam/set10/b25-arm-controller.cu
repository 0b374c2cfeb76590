// 1 kHz arm controller. The control law is captured once; every tick the newest joint scan is
// copied into the graph's input buffer by a separate upload stream so that the transfer of
// tick k+1 can overlap the tail of tick k.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define ARM_OK(expr)                                                                   \
  do {                                                                                 \
    const cudaError_t arm_rc = (expr);                                                     \
    if (arm_rc != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(arm_rc));          \
      std::abort();                                                                    \
    }                                                                                  \
  } while (0)

namespace arm {

constexpr int kPoints = 4096;
constexpr int kJoints = 7;

struct Scan {
  float depth[kPoints];
  float angle[kJoints];
};

__global__ void obstacle_field(const Scan* __restrict__ scan, float* __restrict__ field) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPoints) return;
  float repulsion = 0.f;
  for (int j = 0; j < kJoints; ++j) {
    const float d = fabsf(scan->depth[i] - 0.2f * j);
    repulsion += __expf(-d * d) * cosf(scan->angle[j]);
  }
  field[i] = repulsion;
}

__global__ void torque_command(const Scan* __restrict__ scan, const float* __restrict__ field,
                               float* __restrict__ torque) {
  const int j = threadIdx.x;
  if (j >= kJoints) return;
  float sum = 0.f;
  for (int i = 0; i < kPoints; ++i) sum += field[i] * scan->depth[i];
  torque[j] = -0.5f * scan->angle[j] + 1e-3f * sum;
}

class Stream {
 public:
  Stream() { ARM_OK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

class Event {
 public:
  Event() { ARM_OK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t s) { ARM_OK(cudaEventRecord(e_, s)); }
  void block(cudaStream_t s) const { ARM_OK(cudaStreamWaitEvent(s, e_, 0)); }
  void sync() const { ARM_OK(cudaEventSynchronize(e_)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class Controller {
 public:
  Controller() {
    ARM_OK(cudaMalloc(&scan_, sizeof(Scan)));
    ARM_OK(cudaMalloc(&field_, sizeof(float) * kPoints));
    ARM_OK(cudaMalloc(&torque_, sizeof(float) * kJoints));
    for (auto& s : staging_) ARM_OK(cudaMallocHost(&s, sizeof(Scan)));
    capture();
  }
  ~Controller() {
    ARM_OK(cudaDeviceSynchronize());
    cudaGraphExecDestroy(law_);
    for (auto* s : staging_) cudaFreeHost(s);
    cudaFree(torque_);
    cudaFree(field_);
    cudaFree(scan_);
  }

  // Starts the transfer of the scan of tick `k`.
  void feed(int k, const Scan& scan) {
    const int slot = k % 2;
    staged_[slot].sync();
    std::memcpy(staging_[slot], &scan, sizeof(Scan));
    ARM_OK(cudaMemcpyAsync(scan_, staging_[slot], sizeof(Scan), cudaMemcpyHostToDevice, upload_));
    staged_[slot].record(upload_);
    arrived_.record(upload_);
  }

  // Queues the control law on the scan that was fed last.
  void actuate() {
    arrived_.block(control_);
    ARM_OK(cudaGraphLaunch(law_, control_));
  }

  std::array<float, kJoints> command() {
    std::array<float, kJoints> t{};
    ARM_OK(cudaMemcpyAsync(t.data(), torque_, sizeof(t), cudaMemcpyDeviceToHost, control_));
    ARM_OK(cudaStreamSynchronize(control_));
    return t;
  }

 private:
  void capture() {
    cudaGraph_t graph;
    ARM_OK(cudaStreamBeginCapture(control_, cudaStreamCaptureModeGlobal));
    obstacle_field<<<kPoints / 128, 128, 0, control_>>>(scan_, field_);
    torque_command<<<1, 32, 0, control_>>>(scan_, field_, torque_);
    ARM_OK(cudaStreamEndCapture(control_, &graph));
    ARM_OK(cudaGraphInstantiate(&law_, graph, 0));
    ARM_OK(cudaGraphDestroy(graph));
  }

  Stream upload_;
  Stream control_;
  Event arrived_;
  std::array<Event, 2> staged_;
  std::array<Scan*, 2> staging_{};
  Scan* scan_ = nullptr;
  float* field_ = nullptr;
  float* torque_ = nullptr;
  cudaGraphExec_t law_ = nullptr;
};

}  // namespace arm

int main() {
  arm::Controller controller;
  arm::Scan scan{};
  for (int k = 0; k < 2000; ++k) {
    for (int i = 0; i < arm::kPoints; ++i) scan.depth[i] = 1.f + 0.5f * std::sin(0.01f * i + 0.1f * k);
    for (int j = 0; j < arm::kJoints; ++j) scan.angle[j] = 0.01f * k + j;
    controller.feed(k, scan);
    controller.actuate();
    if (k % 100 == 99) {
      const auto t = controller.command();
      std::printf("tick %d: %.4f %.4f\n", k, t[0], t[6]);
    }
  }
}

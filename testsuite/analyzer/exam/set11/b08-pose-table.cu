// Pose graph front end of a mobile robot: the scheduler publishes new rows of
// the pose table while the solver works through the previous window.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace posegraph {

struct Pose {
  float x, y, heading;
  int stamp;
};

inline void ok(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

class Stream {
 public:
  Stream() { ok(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() {
    cudaStreamSynchronize(s_);
    cudaStreamDestroy(s_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

class Event {
 public:
  Event() { ok(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t s) { ok(cudaEventRecord(e_, s)); }
  void block(cudaStream_t s) const { ok(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_ = nullptr;
};

__global__ void relax_window(const Pose* rows, int n, float* residuals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) {
    const float dx = rows[i + 1].x - rows[i].x;
    const float dy = rows[i + 1].y - rows[i].y;
    residuals[i] = sqrtf(dx * dx + dy * dy);
  }
}

__global__ void stash_rows(const Pose* rows, int n, Pose* keyframes, int every) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * every < n) keyframes[i] = rows[i * every];
}

__global__ void write_rows(Pose* rows, int n, int stamp, float step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rows[i] = Pose{step * i, 0.5f * step * i, 0.f, stamp};
}

class PoseTable {
 public:
  explicit PoseTable(int rows) : n_(rows) {
    ok(cudaMalloc(reinterpret_cast<void**>(&rows_), sizeof(Pose) * n_));
    ok(cudaMalloc(reinterpret_cast<void**>(&keyframes_), sizeof(Pose) * n_));
    ok(cudaMalloc(reinterpret_cast<void**>(&residuals_), sizeof(float) * n_));
  }
  ~PoseTable() {
    cudaDeviceSynchronize();
    cudaFree(rows_);
    cudaFree(keyframes_);
    cudaFree(residuals_);
  }
  PoseTable(const PoseTable&) = delete;
  PoseTable& operator=(const PoseTable&) = delete;

  /// Fills the rows of the next window (schedule side).
  void publish(int stamp, float step) {
    consumed_.block(schedule_);
    write_rows<<<blocks(), 256, 0, schedule_>>>(rows_, n_, stamp, step);
    ok(cudaGetLastError());
    published_.record(schedule_);
  }

  /// One pass over the current window (solver side).
  void solve() {
    published_.block(solver_);
    relax();
    stash(8);
  }

  void drain() {
    ok(cudaStreamSynchronize(solver_));
    ok(cudaStreamSynchronize(schedule_));
  }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  void relax() {
    relax_window<<<blocks(), 256, 0, solver_>>>(rows_, n_, residuals_);
    ok(cudaGetLastError());
    consumed_.record(solver_);
  }

  void stash(int every) {
    stash_rows<<<blocks(), 256, 0, solver_>>>(rows_, n_, keyframes_, every);
    ok(cudaGetLastError());
  }

  int n_;
  Stream schedule_;
  Stream solver_;
  Event published_;
  Event consumed_;
  Pose* rows_ = nullptr;
  Pose* keyframes_ = nullptr;
  float* residuals_ = nullptr;
};

void replay_log(const std::vector<float>& steps) {
  PoseTable table(4096);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    table.publish(static_cast<int>(i), steps[i]);
    table.solve();
  }
  table.drain();
}

}  // namespace posegraph

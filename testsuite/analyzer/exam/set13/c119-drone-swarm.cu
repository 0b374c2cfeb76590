// Swarm simulation: commands go to the device through a ring of mapped rows, the
// number of grounded drones comes back through a pinned mirror one step later.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define SWARM(call)                                                       \
  do {                                                                    \
    cudaError_t e_ = (call);                                              \
    if (e_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));    \
      std::exit(2);                                                       \
    }                                                                     \
  } while (0)

__global__ void flyStep(const float* lift, float2* drones, int n, int* grounded, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 d = drones[i];
  d.y += dt * (lift[i] - 9.81f);
  d.x = fmaxf(0.f, d.x + dt * d.y);
  drones[i] = d;
  if (d.x == 0.f) atomicAdd(grounded, 1);
}

// Records an event behind everything that was enqueued during its life.
class EndMark {
 public:
  EndMark(cudaEvent_t event, cudaStream_t stream) : event_(event), stream_(stream) {}
  ~EndMark() { SWARM(cudaEventRecord(event_, stream_)); }
  EndMark(const EndMark&) = delete;
  EndMark& operator=(const EndMark&) = delete;

 private:
  cudaEvent_t event_;
  cudaStream_t stream_;
};

class CommandRing {
 public:
  static constexpr int kRows = 3;

  explicit CommandRing(int drones) : drones_(drones) {
    for (Row& row : rows_) {
      SWARM(cudaHostAlloc(&row.host, sizeof(float) * drones, cudaHostAllocMapped));
      SWARM(cudaHostGetDevicePointer(&row.device, row.host, 0));
      SWARM(cudaEventCreateWithFlags(&row.read, cudaEventDisableTiming));
    }
  }
  ~CommandRing() {
    for (Row& row : rows_) {
      cudaEventDestroy(row.read);
      cudaFreeHost(row.host);
    }
  }
  CommandRing(const CommandRing&) = delete;
  CommandRing& operator=(const CommandRing&) = delete;

  template <typename Pilot>
  int post(const Pilot& pilot) {
    const int row = cursor_++ % kRows;
    SWARM(cudaEventSynchronize(rows_[row].read));
    for (int i = 0; i < drones_; ++i) rows_[row].host[i] = pilot(i);
    return row;
  }
  const float* device(int row) const { return rows_[row].device; }
  cudaEvent_t read(int row) const { return rows_[row].read; }

 private:
  struct Row {
    float* host = nullptr;
    float* device = nullptr;
    cudaEvent_t read = nullptr;
  };
  int drones_;
  unsigned cursor_ = 0;
  std::array<Row, kRows> rows_{};
};

class Swarm {
 public:
  explicit Swarm(int drones) : drones_(drones), ring_(drones) {
    SWARM(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SWARM(cudaMalloc(&state_, sizeof(float2) * drones));
    SWARM(cudaMalloc(&grounded_, sizeof(int)));
    SWARM(cudaMallocHost(&mirror_, sizeof(int)));
    SWARM(cudaEventCreateWithFlags(&mirrored_, cudaEventDisableTiming));
    SWARM(cudaMemsetAsync(state_, 0, sizeof(float2) * drones, stream_));
    *mirror_ = 0;
  }
  ~Swarm() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(mirrored_);
    cudaFreeHost(mirror_);
    cudaFree(grounded_);
    cudaFree(state_);
    cudaStreamDestroy(stream_);
  }
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  // Returns the number of grounded drones of the previous step.
  template <typename Pilot>
  int step(const Pilot& pilot, float dt) {
    const int before = grounded();
    const int row = ring_.post(pilot);
    {
      const EndMark mark(ring_.read(row), stream_);
      SWARM(cudaMemsetAsync(grounded_, 0, sizeof(int), stream_));
      flyStep<<<(drones_ + 127) / 128, 128, 0, stream_>>>(ring_.device(row), state_, drones_, grounded_, dt);
      SWARM(cudaGetLastError());
    }
    const EndMark mark(mirrored_, stream_);
    SWARM(cudaMemcpyAsync(mirror_, grounded_, sizeof(int), cudaMemcpyDeviceToHost, stream_));
    return before;
  }

  int grounded() const {
    SWARM(cudaEventSynchronize(mirrored_));
    return *mirror_;
  }

 private:
  int drones_;
  CommandRing ring_;
  cudaStream_t stream_ = nullptr;
  float2* state_ = nullptr;
  int* grounded_ = nullptr;
  int* mirror_ = nullptr;
  cudaEvent_t mirrored_ = nullptr;
};

int main() {
  Swarm swarm(1 << 14);
  int worst = 0;
  for (int t = 0; t < 2000; ++t) {
    const int down = swarm.step([t](int i) { return 9.81f + std::sin(0.01f * t + i); }, 0.01f);
    worst = down > worst ? down : worst;
  }
  std::printf("at most %d on the ground, %d at the end\n", worst, swarm.grounded());
  return 0;
}
